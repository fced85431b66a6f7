"""Grad-CAM against its closed form, and the choice of units and layers."""
import numpy as np
import pytest
import torch
from scripts import load
from torch import nn

from mmseg_spwc.errors import ConfigError, RecordError
from mmseg_spwc.record import Record

TOOL = load('tools/analysis_tools/grad_cam.py')


class Pooled(nn.Module):
    """Maps, their means, and a linear classifier."""

    def __init__(self):
        super().__init__()
        self.maps = nn.Conv2d(3, 4, 3, padding=1)
        self.linear = nn.Linear(4, 2)

    def forward(self, x):
        return self.linear(self.maps(x).mean((2, 3)))


def test_activation_is_the_weighted_sum_of_maps():
    """With mean pooling the gradient of a map is its weight over H W."""
    pytest.importorskip('pytorch_grad_cam')
    torch.manual_seed(0)
    model = Pooled().eval()
    x = torch.randn(1, 3, 6, 6)
    found = TOOL.activation(model, model.maps, x, lambda logits: logits[1])
    maps = model.maps(x)[0].detach()
    weight = model.linear.weight.detach()[1]
    summed = sum(float(weight[k]) * maps[k]
                 for k in range(4)).clamp(min=0).numpy()
    summed = (summed - summed.min()) / (summed.max() - summed.min())
    assert np.abs(found - summed).max() < 1e-4


def record_of(kpi):
    record = Record.new('segmentation', {}, {}, 'x')
    record.content['steps'] = [dict(
        step=0, classes=['background', 'a', 'b', 'c'],
        class_ids=[0, 3, 1, 2], kpi=kpi)]
    return record


def test_background_is_neither_easy_nor_hard():
    kpi = {'class': [.99, .2, None, .7], 'step': [.5]}
    easy, hard = TOOL.easiest_and_hardest(record_of(kpi))
    assert (easy.name, easy.index, hard.name) == ('c', 3, 'a')


def test_without_held_out_scores_nothing_is_hard():
    with pytest.raises(RecordError, match='heldout.ratio'):
        TOOL.easiest_and_hardest(record_of(None))


def test_layers():
    model = nn.Module()
    model.backbone = nn.Sequential(
        nn.Conv2d(3, 4, 1), nn.Sequential(nn.Conv2d(4, 4, 1)), nn.ReLU())
    assert TOOL.find_layer(model, None) is model.backbone[1]
    assert TOOL.find_layer(model, 'backbone.0') is model.backbone[0]
    with pytest.raises(ConfigError, match='no layer'):
        TOOL.find_layer(model, 'backbone.x')
    model.backbone = nn.Sequential(nn.ModuleList([nn.Conv2d(3, 4, 1)]))
    with pytest.raises(ConfigError, match='--layer'):
        TOOL.find_layer(model, None)
    model.backbone = nn.Sequential(nn.Linear(2, 2))
    with pytest.raises(ConfigError, match='no convolutions'):
        TOOL.find_layer(model, None)
