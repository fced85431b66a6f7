"""``load_from`` gives step 0 its first weights, as mmseg users expect."""
import pickle
from types import SimpleNamespace

import numpy
import pytest
import torch
from mmengine.logging import HistoryBuffer

from mmseg_spwc.config.step import scenario_of
from mmseg_spwc.engine import step_config
from mmseg_spwc.engine.hooks import step_transition_hook
from mmseg_spwc.engine.hooks.step_transition_hook import StepTransitionHook
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.registry import MODELS

LEAVES = ['configs/demo/finetune_shapes-6-1.py',
          'configs/demo/rcil_shapes-6-1.py']
OURS, MMSEGS = 'conv_seg.convs.0.', 'conv_seg.'


def plain(key: str) -> str:
    """The plain network's name of a weight."""
    return key.replace('.old.', '.').replace('.new.', '.')


@pytest.fixture(params=LEAVES, ids=['plain', 'doubled'])
def config(request, tiny_config):
    cfg = tiny_config(request.param)
    return step_config(cfg, scenario_of(cfg), 0)


@pytest.fixture
def given(config):
    """Weights of the plain network, each different from any start."""
    net = step_transition_hook.build_plain(config.model, config.model.channels)
    return {key: torch.rand_like(value) + 1 if value.is_floating_point()
            else value + 7 for key, value in net.state_dict().items()}


@pytest.fixture
def said(monkeypatch):
    lines = []
    monkeypatch.setattr('mmseg_spwc.runtime.checkpoint.warn', lines.append)
    return lines


def started(config, iteration=0, **options) -> dict:
    torch.manual_seed(3)
    student = MODELS.build(config.model)
    student.init_weights()
    StepTransitionHook(step=0, **options).before_train(
        SimpleNamespace(model=student, iter=iteration, cfg=config))
    return student.state_dict()


def saved(tmp_path, content) -> str:
    torch.save(content, tmp_path / 'given.pth')
    return str(tmp_path / 'given.pth')


@pytest.mark.parametrize('prefix', ['', 'module.'])
def test_a_whole_model_fills_every_weight(
        config, given, tmp_path, said, prefix):
    path = saved(tmp_path, {f'{prefix}{k}': v for k, v in given.items()})
    state = started(config, load_from=path)
    assert all(torch.equal(state[key], given[plain(key)]) for key in state
               if plain(key) in given)
    assert {plain(key) for key in state} >= set(given)
    assert not said


def test_of_a_model_of_mmseg_what_fits_is_taken(
        config, given, tmp_path, said):
    theirs = {k.replace(OURS, MMSEGS): v for k, v in given.items()}
    key = 'decode_head.bottleneck.conv.weight' if (
        'decode_head.bottleneck.conv.weight' in theirs) else next(
            k for k in theirs if k.startswith('decode_head'))
    theirs[key] = theirs[key][:1]  # mis-shaped
    path = saved(tmp_path, dict(state_dict=theirs, meta=dict(epoch=3)))
    state, own = started(config, load_from=path), started(config)
    for name in state:
        fits = plain(name) in theirs and plain(name) != key
        wanted = theirs[plain(name)] if fits else own[name]
        assert torch.equal(state[name], wanted), name
    assert 'conv_seg.convs.0' in said[0] and 'start as without it' in said[0]


def test_a_checkpoint_as_mmengine_writes_it_is_read(
        config, given, tmp_path, said):
    history = HistoryBuffer([1., 2.], [1, 1])
    path = saved(tmp_path, dict(
        meta=dict(epoch=1, time=numpy.float64(3)), state_dict=given,
        message_hub=dict(log_scalars={
            'train/loss': history, 'train/none': HistoryBuffer()})))
    with pytest.raises(pickle.UnpicklingError):
        torch.load(path, weights_only=True)
    state = started(config, load_from=path)
    assert all(torch.equal(state[key], given[plain(key)]) for key in state
               if plain(key) in given)
    assert not said


def test_backbone_weights_come_first(config, given, tmp_path, said):
    backbone = {k: torch.zeros_like(v) for k, v in given.items()
                if k.startswith('backbone.')}
    torch.save(backbone, tmp_path / 'backbone.pth')
    stem = next(k for k in backbone if given[k].dim() == 4)
    path = saved(tmp_path, {stem: given[stem]})
    state = started(config, load_from=path,
                    backbone_weights=str(tmp_path / 'backbone.pth'))
    for key, value in state.items():
        if key.startswith('backbone.') and plain(key) in given:
            expected = given if plain(key) == stem else backbone
            assert torch.equal(value, expected[plain(key)]), key


def test_a_resumed_step_keeps_its_weights(config, given, tmp_path):
    state = started(config, iteration=5, load_from=saved(tmp_path, given))
    expected = started(config)
    assert all(torch.equal(state[key], expected[key]) for key in expected)


@pytest.mark.parametrize('content', [
    dict(state_dict={}), {'a.weight': torch.ones(3)}, [1, 2],
    dict(state_dict={'backbone.stem.0.weight': torch.ones(1)})])
def test_a_file_of_which_nothing_fits_is_refused(config, tmp_path, content):
    with pytest.raises(ConfigError, match=(
            'holds no weight with a name and shape of this network.*are for '
            'backbone_weights')):
        started(config, load_from=saved(tmp_path, content))


def test_a_file_that_would_run_code_is_refused(config, tmp_path):
    path = saved(tmp_path, dict(state_dict=SimpleNamespace(a=1)))
    with pytest.raises(ConfigError, match='whose loading may run code'):
        started(config, load_from=path)


def test_first_steps_alone_are_given_the_file(tiny_config):
    cfg = tiny_config()
    cfg.load_from = 'here.pth'
    scenario = scenario_of(cfg)

    def given_to(step):
        out = step_config(cfg, scenario, step)
        assert out.load_from is None  # MMEngine's key serves resuming
        hook = next(h for h in out.custom_hooks
                    if h.type.endswith('StepTransitionHook'))
        return hook.get('load_from')

    assert [given_to(s) for s in range(3)] == ['here.pth', None, None]
    cfg.method.restart = True
    assert [given_to(s) for s in range(3)] == ['here.pth'] * 3
