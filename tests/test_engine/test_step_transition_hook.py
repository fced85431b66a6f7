"""Every weight of a student starts where it should."""
from types import SimpleNamespace

import pytest
import torch

from mmseg_spwc.config.step import scenario_of
from mmseg_spwc.engine import step_config
from mmseg_spwc.engine.hooks.step_transition_hook import StepTransitionHook
from mmseg_spwc.models.rc import add_branches
from mmseg_spwc.registry import MODELS

RCIL = 'configs/demo/rcil_shapes-6-1.py'
DOUBLED = ('.old.', '.new.')


def plain(key: str) -> str:
    """The plain network's name of a weight."""
    for branch in DOUBLED:
        key = key.replace(branch, '.')
    return key


@pytest.fixture(params=['rc', 'plain'])
def config(request, tiny_config):
    cfg = tiny_config(RCIL)
    out = step_config(cfg, scenario_of(cfg), 0)
    if request.param == 'plain':
        out.model.rc = None
    return out


@pytest.fixture
def weights(config, tmp_path):
    """A file of backbone weights, and what it holds."""
    net = MODELS.build(config.model.backbone)
    with torch.no_grad():
        for value in net.state_dict().values():
            if value.is_floating_point():
                value.uniform_(1, 2)
    torch.save(net.state_dict(), tmp_path / 'backbone.pth')
    return str(tmp_path / 'backbone.pth'), net.state_dict()


def started(config, **options):
    """The state of a student as its first iteration finds it."""
    torch.manual_seed(3)
    student = MODELS.build(config.model)
    student.init_weights()
    hook = StepTransitionHook(step=0, **options)
    hook.before_train(SimpleNamespace(model=student, iter=0, cfg=config))
    return student.state_dict()


def assert_backbone_is(given, state):
    """Both branches hold the file's weights."""
    found = {key: plain(key.removeprefix('backbone.'))
             for key in state if key.startswith('backbone.')}
    assert set(found.values()) == set(given)
    for key, name in found.items():
        assert torch.equal(state[key], given[name]), key


def test_backbone_weights_leave_every_other_start(config, weights):
    path, given = weights
    state, expected = started(config, backbone_weights=path), started(config)
    assert_backbone_is(given, state)
    for key in state.keys() | expected.keys():
        assert key.startswith('backbone.') or torch.equal(
            state[key], expected[key]), key


@pytest.mark.parametrize('way', ['pretrained', 'init_cfg'])
def test_pretrained_of_mmseg_fills_both_branches(config, weights, way):
    path, given = weights
    if way == 'pretrained':
        config.model.pretrained = path
    else:
        config.model.backbone.init_cfg = dict(
            type='Pretrained', checkpoint=path)
    assert_backbone_is(given, started(config))


def test_branches_of_a_head_start_as_draws_of_their_own(tiny_config, tmp_path):
    """Xavier's normal, whose spread follows from the fans."""
    cfg = tiny_config(RCIL)
    out = step_config(cfg, scenario_of(cfg), 0)
    net = MODELS.build(out.model.backbone)
    torch.save(net.state_dict(), tmp_path / 'backbone.pth')
    state = started(out, backbone_weights=str(tmp_path / 'backbone.pth'))
    old, new = (state[f'decode_head.aspp_convs.1.{branch}.weight']
                for branch in ('old', 'new'))
    gain = (2 / (1 + .01**2))**.5
    std = gain * (2 / (9 * (64 + 48)))**.5
    for kernel in (old, new):
        assert kernel.std().item() == pytest.approx(std, rel=.03)
    assert not torch.equal(old, new)


@pytest.mark.parametrize('frozen, folded', [
    (False, False), (True, False), (True, True)])
def test_doubled_layers_take_plain_weights(config, frozen, folded):
    model = dict(config.model, rc=None)
    source, target = MODELS.build(model), MODELS.build(model)
    source.init_weights()
    add_branches(target, config.model.rc and config.model.rc.match,
                 frozen=frozen, folded=folded)
    target.load_state_dict(source.state_dict())
    for key, value in target.state_dict().items():
        assert torch.equal(value, source.state_dict()[plain(key)]), key
    state = dict(source.state_dict())
    del state['decode_head.aspp_convs.1.weight']
    with pytest.raises(RuntimeError, match='Missing.*aspp_convs.1.old.weight'):
        target.load_state_dict(state)
