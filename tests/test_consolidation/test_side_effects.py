import random

import numpy as np
import pytest
import torch
from torch import nn

from mmseg_spwc.consolidation import fisher_diagonal, mas_importance
from mmseg_spwc.consolidation.importance import no_side_effects


def make_model():
    model = nn.Sequential(
        nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(True), nn.Dropout(.5),
        nn.Conv2d(3, 2, 1))
    model.train()
    model[1].eval()  # a frozen norm in a training model
    model[4].bias.requires_grad_(False)
    model[0].weight.grad = torch.ones_like(model[0].weight)
    return model


def snapshot(model):
    return {
        'modes': [m.training for m in model.modules()],
        'requires_grad': [p.requires_grad for p in model.parameters()],
        'grads': [p.grad for p in model.parameters()],
        'state': {k: v.clone() for k, v in model.state_dict().items()},
        'rng': (torch.get_rng_state().tolist(), random.getstate(),
                np.random.get_state()[1].tolist()),
    }


def assert_unchanged(before, after):
    for key in ('modes', 'requires_grad', 'rng'):
        assert before[key] == after[key]
    assert all(a is b for a, b in zip(
        before['grads'], after['grads'], strict=True))
    for key, value in before['state'].items():
        assert torch.equal(value, after['state'][key]), key


@pytest.mark.parametrize('estimate', [fisher_diagonal, mas_importance])
def test_estimating_leaves_no_trace(estimate):
    model = make_model()
    before = snapshot(model)

    def noisy_batches():
        for _ in range(3):
            random.random()
            yield torch.randn(2, 2, 6, 6) + float(np.random.rand())

    with torch.no_grad():
        estimate(model, noisy_batches())
    assert_unchanged(before, snapshot(model))


def test_restored_after_an_error():
    model, wrong = make_model(), torch.randn(2, 7, 6, 6)
    before = snapshot(model)
    with pytest.raises(RuntimeError):
        fisher_diagonal(model, [wrong])
    assert_unchanged(before, snapshot(model))


def test_buffers_and_gradients_written_inside_are_undone():
    model = make_model()
    before = snapshot(model)
    with no_side_effects(model):
        assert not any(m.training for m in model.modules())
        model.train()
        model(torch.randn(4, 2, 6, 6)).sum().backward()
        model.requires_grad_(False)
        torch.randn(3)
    after = snapshot(model)
    before['grads'][0] = after['grads'][0]  # the same tensor, added to
    assert_unchanged(before, after)
