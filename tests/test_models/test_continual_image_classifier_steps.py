"""A whole MMPretrain network from one step to the next."""
import mmseg_spwc  # noqa: F401, I001  (before mmpretrain)

import copy
import importlib
import subprocess
import sys

import pytest
import torch
from mmengine.config import ConfigDict
from mmengine.registry import init_default_scope

import mmseg_spwc.classification
from mmseg_spwc.errors import StackError
from mmseg_spwc.engine.hooks.step_transition_hook import (
    build_plain,
    load_previous,
)
from mmseg_spwc.registry import MODELS
from mmseg_spwc.structures import BatchSamples

RESNET = dict(
    type='mmseg_spwc.ContinualImageClassifier',
    backbone=dict(
        type='ResNet_CIFAR', depth=18, stem_channels=8, base_channels=8),
    neck=dict(type='GlobalAveragePooling'),
    head=dict(type='LinearClsHead', num_classes=10, in_channels=64),
    data_preprocessor=dict(mean=[128.] * 3, std=[64.] * 3),
    channels=[4, 3],
    per_task=True,
    losses=dict(
        ce=dict(type='mmseg_spwc.TaskCrossEntropyLoss'),
        kd=dict(type='mmseg_spwc.HeadDistillationLoss')))


@pytest.fixture(autouse=True)
def mmpretrain_scope():
    init_default_scope('mmpretrain')
    torch.manual_seed(0)


def build(**options):
    return MODELS.build(copy.deepcopy(dict(RESNET, **options)))


def batch(model):
    samples = BatchSamples(torch.tensor([4, 6]), torch.tensor([1, 1]))
    images = torch.randint(0, 256, (2, 3, 16, 16), dtype=torch.uint8)
    data = dict(inputs=images, data_samples=samples)
    return model.data_preprocessor(data, training=True)


def test_two_steps_of_a_resnet():
    student = build().train()
    keys = set(student.state_dict())
    old = build_plain(ConfigDict(RESNET), [4])
    assert len(old.losses) == 0
    fresh = copy.deepcopy(student.head.fc.linears[1].state_dict())
    load_previous(student, old.state_dict())
    student.initialise_new('default')
    state = student.state_dict()
    for key, value in old.state_dict().items():
        assert torch.equal(state[key], value)
    assert torch.equal(state['head.fc.linears.1.weight'], fresh['weight'])
    new = {k for k in keys if student.is_new(k)}
    assert new == keys - old.state_dict().keys() == {
        'head.fc.linears.1.weight', 'head.fc.linears.1.bias'}
    student.set_teacher(old)
    assert set(student.state_dict()) == keys
    losses = student(**batch(student), mode='loss')
    assert set(losses) == {'loss_ce', 'loss_kd', 'acc'}
    (losses['loss_ce'] + losses['loss_kd']).backward()
    for name, param in student.named_parameters():
        assert (param.grad is None) == ('fc.linears.0' in name)
    assert all(p.grad is None for p in old.parameters())
    student.double()
    assert next(old.parameters()).dtype == torch.float64


def test_a_foreign_checkpoint_is_refused():
    state = build(channels=[5]).state_dict()
    with pytest.raises(ValueError, match='another shape for head.fc'):
        load_previous(build(), state)


def test_norms_freeze():
    model = build(frozen_norm=r'^backbone\.bn1').train()
    assert not model.backbone.bn1.training
    assert not model.backbone.bn1.weight.requires_grad
    assert model.backbone.layer1[0].bn1.training


def test_branches_fold():
    model, plain = build(rc=dict()).eval(), build()
    assert len(model.state_dict()) > len(plain.state_dict())
    inputs = batch(model)['inputs']
    before = model(inputs)
    model.to_plain()
    assert model.state_dict().keys() == plain.state_dict().keys()
    torch.testing.assert_close(model(inputs), before)


def test_it_is_built_without_memory_too():
    vgg = dict(type='mmseg_spwc.SmallVGG', image_size=32)
    with torch.device('meta'):
        model = build(backbone=vgg, neck=None)
    assert model.own_channels.shape == (2, 7)


def test_missing_mmpretrain_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, 'mmpretrain', None)
    with pytest.raises(StackError, match=r"pip install 'mmseg_spwc\[cls\]'"):
        importlib.reload(mmseg_spwc.classification)


def test_segmentation_does_without_mmpretrain():
    code = ("import sys; sys.modules['mmpretrain'] = None; "
            'import mmseg_spwc.models, mmseg_spwc.engine')
    subprocess.run([sys.executable, '-c', code], check=True)
