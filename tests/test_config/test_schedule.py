"""The learning rate falls as it does in the published code."""
import pytest
import torch
from mmengine.hooks import Hook
from mmengine.optim import OptimWrapper
from mmengine.registry import PARAM_SCHEDULERS

from mmseg_spwc.config.step import scenario_of
from mmseg_spwc.engine import ContinualRunner, step_config
from mmseg_spwc.registry import HOOKS

FOUND = []


@HOOKS.register_module(force=True)
class Rates(Hook):
    """Writes down the rate of every iteration."""

    def before_train_iter(self, runner, batch_idx, data_batch=None):
        FOUND.append((runner.iter, runner.max_iters,
                      runner.optim_wrapper.get_lr()['lr'][0]))


@pytest.mark.parametrize('loop', ['epochs', 'iterations'])
def test_rates_of_whole_steps(tiny_config, loop):
    cfg = tiny_config(**{'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
                         'custom_hooks': [dict(type='mmseg_spwc.Rates')]})
    if loop == 'iterations':
        cfg.train_cfg = dict(type='IterBasedTrainLoop', max_iters=12)
        cfg.schedule.later.train_cfg = dict(max_iters=7)
        cfg.train_dataloader.sampler.type = 'InfiniteSampler'
        cfg.default_hooks.checkpoint.update(by_epoch=False)
    FOUND.clear()
    ContinualRunner(cfg).train()
    later = next(n for n, found in enumerate(FOUND) if n and not found[0])
    for steps, rate in ((FOUND[:later], 0.05), (FOUND[later:], 0.03)):
        length = steps[0][1]
        assert length == len(steps) > 4
        assert [lr for *_, lr in steps] == pytest.approx(
            [rate * (1 - i / length)**0.9 for i in range(length)], rel=1e-9)


def test_a_part_of_a_step_that_falls_to_a_rate_above_0():
    param = torch.nn.Parameter(torch.zeros(1))
    wrapper = OptimWrapper(torch.optim.SGD([param], lr=1.))
    schedule = PARAM_SCHEDULERS.build(
        dict(type='mmseg_spwc.PolynomialLR', power=2., eta_min=.1, begin=3,
             end=7, by_epoch=False), default_args=dict(optimizer=wrapper))
    rates = []
    for _ in range(10):
        rates += wrapper.get_lr()['lr']
        wrapper.step()
        schedule.step()
    assert rates == pytest.approx(
        [1.] * 3 + [.1 + .9 * (1 - i / 4)**2 for i in range(4)] +
        [.1 + .9 / 16] * 3)


def test_a_schedule_of_ones_own_is_left_alone(tiny_config):
    cfg = tiny_config()
    assert cfg.param_scheduler.type == 'mmseg_spwc.PolynomialLR'
    cfg.param_scheduler = dict(type='PolyLR', power=.9)
    out = step_config(cfg, scenario_of(cfg), 0)
    assert out.param_scheduler == [dict(type='PolyLR', power=.9, end=2)]


def test_a_plain_schedule_is_as_long_as_the_step(tiny_config):
    """One of mmseg's configs says when it ends; a shorter step ends before.
    """
    cfg = tiny_config()
    cfg.train_cfg = dict(type='IterBasedTrainLoop', max_iters=400)
    cfg.schedule.later.train_cfg = dict(max_iters=40)
    warm = dict(type='LinearLR', by_epoch=False, begin=0, end=15)
    fall = dict(type='PolyLR', by_epoch=False, begin=15, end=400)
    cfg.param_scheduler = [warm, fall]
    first, later = (step_config(cfg, scenario_of(cfg), t) for t in (0, 1))
    assert first.param_scheduler == [warm, fall]
    assert later.param_scheduler == [dict(warm, end=1),
                                     dict(fall, begin=1, end=40)]
    # what a stage says itself is meant for its own length, and what does
    # not end with the training for every length
    cfg.schedule.later.param_scheduler = [warm, dict(fall, end=30)]
    assert step_config(cfg, scenario_of(cfg), 1).param_scheduler[0] == warm
    del cfg.schedule.later['param_scheduler']
    cfg.param_scheduler = [warm]
    assert step_config(cfg, scenario_of(cfg), 1).param_scheduler == [warm]
