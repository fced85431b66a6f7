"""Sequences with weight consolidation on generated data, in process."""
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.hooks import Hook

from mmseg_spwc.consolidation import StepStore
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.runtime.checkpoint import load_step

METHODS = 'configs/_base_/methods'
TWO_STEPS = {'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
             'train_cfg.max_epochs': 1,
             'schedule.later.train_cfg.max_epochs': 1}


@HOOKS.register_module()
class NoPriorities(Hook):
    """Gives no earlier step any priority, as spWC might."""
    priority = 'HIGH'

    def before_train(self, runner):
        for hook in runner.hooks:
            if hasattr(hook, 'set_priorities'):
                hook.set_priorities([0.] * (len(runner.model.channels) - 1))


@HOOKS.register_module()
class Stop(Hook):
    """Fails at the start of the second epoch of a later step."""

    def before_train_epoch(self, runner):
        if runner.epoch == 1 and len(runner.model.channels) > 1:
            raise InterruptedError


@pytest.fixture
def run(tiny_config, tmp_path):

    def make(method, name, hooks=None, **options):
        cfg = tiny_config(**options)
        cfg.method = Config.fromfile(f'{METHODS}/{method}.py').method
        cfg.work_dir = str(tmp_path / name)
        if hooks:
            cfg.method.every.hooks.update(hooks)
        return cfg

    return make


def weights(cfg, step):
    return load_step(f'{cfg.work_dir}/step_{step:02d}/final.pth')[
        'state_dict']


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


def drift(cfg, step, importances):
    """Distance from step 0, weighted with what mattered there."""
    start, end = weights(cfg, 0), weights(cfg, step)
    return sum((gamma * (end[name] - start[name])**2).sum().item()
               for name, gamma in importances.items())


def test_ewc_keeps_closer_to_what_mattered(run, no_bars):
    ewc, plain = run('ewc', 'ewc'), run('finetune', 'finetune')
    ewc.method.every.hooks.consolidation.strength = 30.
    for cfg in (ewc, plain):
        ContinualRunner(cfg).train()
    store = StepStore(f'{ewc.work_dir}/consolidation')
    assert store.steps() == [0, 1, 2]
    assert same(weights(ewc, 0), weights(plain, 0))
    for task in range(3):
        importances, anchors = store.load(task)
        final = weights(ewc, task)
        assert all(torch.equal(final[k], v) for k, v in anchors.items())
        heads = {k for k in importances if 'conv_seg' in k}
        assert len(heads) == 2 * (task + 1)
        assert all(importances[k].any() for k in heads)
    importances, _ = store.load(0)
    for step in (1, 2):
        assert drift(ewc, step, importances) < \
            0.5 * drift(plain, step, importances)
    log, = Path(ewc.work_dir, 'step_01').glob('*/*.log')
    assert 'penalty: ' in log.read_text()


def test_priorities_of_zero_change_no_bit_of_finetune(run):
    hooks = dict(pace=dict(type='mmseg_spwc.NoPriorities'))
    paced = run('ewc', 'paced', hooks, **TWO_STEPS)
    plain = run('finetune', 'plain', **TWO_STEPS)
    for cfg in (paced, plain):
        ContinualRunner(cfg).train()
    assert same(weights(paced, 1), weights(plain, 1))


@pytest.mark.parametrize('method', ['si', 'ewc_mib'])
def test_a_stopped_step_goes_on_with_what_it_has_gathered(run, method):
    options = {**TWO_STEPS, 'schedule.later.train_cfg.max_epochs': 2}
    whole, broken = (run(method, name, **options)
                     for name in ('whole', 'broken'))
    ContinualRunner(whole).train()
    stopped = run(method, 'broken', dict(stop=dict(type='mmseg_spwc.Stop')),
                  **options)
    with pytest.raises(InterruptedError):
        ContinualRunner(stopped).train()
    broken.resume = True
    ContinualRunner(broken).train()
    assert same(weights(whole, 1), weights(broken, 1))
    for task in range(2):
        a, b = (StepStore(f'{cfg.work_dir}/consolidation').load(task)
                for cfg in (whole, broken))
        assert same(a[0], b[0]) and same(a[1], b[1])
        assert all(v.isfinite().all() for v in a[0].values())


def test_ewc_online_and_self_paced_weights_run(run):
    cfg = run('ewc_online', 'online', **TWO_STEPS)
    cfg.self_paced = dict(rule='linear', mu=1.)
    record = ContinualRunner(cfg).train()
    assert record.step(1)['priority']['unit'] == 'step'
    assert len(record.step(1)['priority']['v']) == 1
