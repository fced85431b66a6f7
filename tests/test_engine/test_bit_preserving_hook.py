"""BLIP in a training run: what the bits allow, and what they leave behind."""
import itertools
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.registry import init_default_scope
from mmengine.runner import Runner
from safetensors.torch import load_file

from mmseg_spwc.config.step import checkpoint_path, scenario_of
from mmseg_spwc.engine import step_config
from mmseg_spwc.engine.hooks import BitPreservingHook
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.registry import HOOKS

LEAF = 'configs/classification/blip/blip_mlp_permuted-digits.py'
# by hand: R = 6 / sqrt(fan_in) of weights and 1 of biases
BOUNDS = {'backbone.layers.0.weight': 6 / 1024**.5,
          'backbone.layers.0.bias': 1.,
          'backbone.layers.2.weight': 6 / 16**.5,
          'backbone.layers.2.bias': 1.}
WATCHED = []
NUMBERS = itertools.count()


@HOOKS.register_module(force=True)
class WatchWeights(Hook):
    """Keeps the weights after every iteration."""

    def after_train_iter(self, runner, batch_idx, data_batch=None,
                         outputs=None):
        WATCHED.append(state_of(runner))


def state_of(runner) -> dict:
    return {n: p.detach().clone() for n, p in runner.model.named_parameters()}


@pytest.fixture
def runner_of(tmp_path):
    """Build the runner of a step."""
    init_default_scope('mmpretrain')

    def make(step, **options):
        cfg = Config.fromfile(LEAF)
        cfg.merge_from_dict({
            'work_dir': str(tmp_path),
            'experiment_name': f'bits_{next(NUMBERS)}',
            'scenario.name': '2',
            'total_batch_size': 100,
            'train_cfg.max_epochs': 1,
            'optim_wrapper.optimizer.lr': 0.05,
            'model.backbone.hidden': (16, 16),
            'model.head.in_channels': 16,
            'custom_hooks': [dict(type='mmseg_spwc.WatchWeights')],
            **options
        })
        return Runner.from_cfg(step_config(cfg, scenario_of(cfg), step))

    WATCHED.clear()
    return make


def finish(runner, step: int) -> dict:
    """Train a step and keep its weights as the sequence does."""
    runner.train()
    path = Path(checkpoint_path(str(Path(runner.work_dir).parent), step))
    torch.save(dict(state_dict=runner.model.state_dict(), stamp=None), path)
    return state_of(runner)


@pytest.fixture
def two_steps(runner_of, monkeypatch):
    """Train both steps; return their weights and watched iterations."""
    from mmseg_spwc.engine.hooks import step_transition_hook
    monkeypatch.setattr(step_transition_hook, 'load_step',
                        lambda path: torch.load(path, weights_only=True))
    result = []
    for step in range(2):
        WATCHED.clear()
        result.append((finish(runner_of(step), step), list(WATCHED)))
    return result


def bits_of(tmp_path, step: int) -> dict:
    return load_file(
        tmp_path / 'consolidation' / f'bits_{step:02d}.safetensors')


def test_every_iteration_keeps_the_frozen_bits(two_steps, tmp_path):
    (start, _), (_, watched) = two_steps
    kept = bits_of(tmp_path, 0)
    assert len(watched) == 12
    moved = dict.fromkeys(BOUNDS, 0.)
    for state in watched:
        for name, bound in BOUNDS.items():
            window = bound * 2.**-kept[f'bits.{name}'].double()
            shift = (state[name].double() - start[name].double()).abs()
            assert (shift <= window * (1 + 1e-5)).all()
            assert (state[name].abs() <= bound).all()
            moved[name] = max(moved[name], shift.max().item())
    assert all(moved.values())
    # some weights would have gone further, had they not been held
    held = [(s['backbone.layers.2.weight'] - start['backbone.layers.2.weight']
             ).abs() >= 0.999 * BOUNDS['backbone.layers.2.weight'] *
            2.**-kept['bits.backbone.layers.2.weight'].float()
            for s in watched]
    assert any(h.any() for h in held)


def test_bits_only_grow_and_weights_lie_on_their_grid(two_steps, tmp_path):
    kept = [bits_of(tmp_path, step) for step in range(2)]
    for name, bound in BOUNDS.items():
        first, second = (k[f'bits.{name}'] for k in kept)
        assert (second >= first).all() and (first >= 0).all()
        assert second.max() <= 20 and second.any()
        for (end, _), bits in zip(two_steps, (first, second), strict=True):
            cells = end[name].double() / bound * 2.**bits.double()
            assert torch.allclose(cells, cells.round(), atol=0.05)
            assert (end[name][bits == 0] == 0).all()
            assert (end[name] != 0).any()
    names = {n.partition('.')[2] for n in kept[0]} - {''}
    assert names == set(BOUNDS)  # no head


def test_heads_are_trained_as_usual(two_steps):
    (start, _), (end, watched) = two_steps
    assert torch.equal(end['head.fc.linears.0.weight'],
                       watched[-1]['head.fc.linears.0.weight'])
    assert not torch.equal(end['head.fc.linears.0.weight'],
                           start['head.fc.linears.0.weight'])


def test_repeating_the_end_of_a_step_gives_the_same(runner_of, tmp_path):
    runner = runner_of(0)
    runner.train()
    first = {n: t.clone() for n, t in bits_of(tmp_path, 0).items()}
    # as a run does that was stopped between measuring and saving
    for name, value in WATCHED[-1].items():
        runner.model.get_parameter(name).data.copy_(value)
    torch.rand(3)
    runner.call_hook('after_train')
    second = bits_of(tmp_path, 0)
    assert first.keys() == second.keys()
    assert all(torch.equal(second[n], t) for n, t in first.items())


def test_first_weights_are_blips(runner_of):
    runner = runner_of(0)
    before = state_of(runner)
    runner.optim_wrapper = runner.build_optim_wrapper(runner.optim_wrapper)
    hook = next(h for h in runner.hooks if isinstance(h, BitPreservingHook))
    hook.initialise = False
    hook.before_train(runner)
    assert all(torch.equal(state_of(runner)[n], t) for n, t in before.items())
    hook.initialise = True
    hook.before_train(runner)
    after = state_of(runner)
    assert not after['backbone.layers.0.bias'].any()
    spread = after['backbone.layers.0.weight'].std()
    assert spread == pytest.approx(1 / 32, rel=0.05)
    assert torch.equal(after['head.fc.linears.0.weight'],
                       before['head.fc.linears.0.weight'])


def test_a_resumed_step_keeps_its_weights(runner_of):
    runner = runner_of(0)
    before = state_of(runner)
    runner.optim_wrapper = runner.build_optim_wrapper(runner.optim_wrapper)
    hook = next(h for h in runner.hooks if isinstance(h, BitPreservingHook))
    runner._train_loop = runner.build_train_loop(runner._train_loop)
    runner.train_loop._iter = 3
    hook.before_train(runner)
    assert all(torch.equal(state_of(runner)[n], t) for n, t in before.items())


def test_weights_from_elsewhere_come_into_the_range(runner_of, tmp_path):
    runner = runner_of(0, **{'train_cfg.max_epochs': 1})
    runner.train()
    weight = runner.model.get_parameter('backbone.layers.2.weight')
    weight.data[0, 0] = 100.
    runner.call_hook('after_train')
    assert weight.abs().max() <= BOUNDS['backbone.layers.2.weight']


def test_missing_and_foreign_bits_are_explained(runner_of, tmp_path):
    def begin(runner):
        hook = next(
            h for h in runner.hooks if isinstance(h, BitPreservingHook))
        runner.optim_wrapper = runner.build_optim_wrapper(
            runner.optim_wrapper)
        hook.before_train(runner)

    with pytest.raises(ConfigError, match='no bits of the step before at'):
        begin(runner_of(1))
    runner_of(0).train()
    begin(runner_of(1))
    for other in ({'model.backbone.hidden': (12, 16)},
                  {'model.backbone.hidden': (16, 16, 16)}):
        with pytest.raises(ConfigError, match='another network'):
            begin(runner_of(1, **other))
    (tmp_path / 'consolidation' / 'bits_00.safetensors').write_bytes(b'?')
    with pytest.raises(ConfigError, match='is broken'):
        begin(runner_of(1))
