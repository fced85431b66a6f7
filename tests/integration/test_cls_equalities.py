"""Settings that must come to the same: bit for bit, or up to rounding."""
import math

import pytest
import torch
from digit_runs import (
    close,
    digits,
    same,
    train,
    weights,
)

from mmseg_spwc.config.step import scenario_of, step_config

HOOK = 'method.every.hooks.consolidation'


@pytest.fixture
def make(tmp_path):
    """Make a config of two tasks, an epoch each."""

    def config(name, method, **options):
        return digits(tmp_path / name, method, **{
            'scenario.name': '2', 'train_cfg.max_epochs': 1, **options})

    return config


@pytest.mark.parametrize('method', ['ewc', 'online-ewc'])
def test_an_infinite_age_is_the_plain_method(make, method):
    options = {'scenario.name': '3', 'model.backbone.dropout': 0.2}
    plain, paced = (make(name, method, **options)
                    for name in ('plain', 'paced'))
    # scoring in the middle of a task must leave no trace either
    paced.self_paced = dict(rule='spwc', mu=math.inf, update=dict(iters=5))
    train(plain)
    record = train(paced)
    assert record.step(2)['priority']['v'] == [1., 1.]
    assert all(same(weights(plain, t), weights(paced, t)) for t in range(3))


@pytest.mark.parametrize('scheduler', [
    dict(type='PolyLR', power=0.9, convert_to_iter_based=True),
    dict(type='PolyLR', power=0.9, by_epoch=False)])
def test_least_iterations_are_the_epochs_they_take(make, scheduler):
    long = make('long', 'finetune', **{'train_cfg.max_epochs': 3})
    least = make('least', 'finetune', **{
        'train_cfg.max_epochs': 1, 'schedule.later.train_cfg.max_epochs': 3})
    for cfg in (long, least):
        cfg.param_scheduler = scheduler
    record = train(long)
    iterations = record.step(0)['curves']['iterations'][-1]
    least.train_cfg.min_iters = iterations - iterations // 3 + 1
    found = train(least)
    for step in (0, 1):
        assert found.step(step)['curves']['iterations'][-1] == iterations
        assert same(weights(long, step), weights(least, step))


@pytest.mark.parametrize('update', ['gradient', 'proximal'])
def test_no_strength_and_no_weight_are_finetuning(make, update):
    dropout = {'model.backbone.dropout': 0.2}  # tells random states apart
    plain = make('plain', 'finetune', **dropout)
    none = make('none', 'ewc', **dropout, **{
        f'{HOOK}.strength': 0., f'{HOOK}.update': update})
    zero = make('zero', 'ewc', **{f'{HOOK}.update': update}, **dropout)
    zero.self_paced = dict(rule='hard', mu=1e-9)
    for cfg in (plain, none, zero):
        record = train(cfg)
    assert record.step(1)['priority']['v'] == [0.]
    assert record.step(1)['consolidation'] == dict(penalised=0, stored=1)
    for cfg in (none, zero):
        assert same(weights(cfg, 1), weights(plain, 1))


@pytest.mark.parametrize('update', ['gradient', 'proximal'])
def test_accumulated_gradients_take_the_same_way(make, update):
    options = {f'{HOOK}.strength': 10., f'{HOOK}.update': update,
               f'{HOOK}.importance.labels': 'exact'}
    # 1150 images are 23 batches of 50
    plain = make('plain', 'ewc', total_batch_size=50, **options)
    halves = make('halves', 'ewc', total_batch_size=25, **options)
    halves.optim_wrapper.accumulative_counts = 2
    for cfg in (plain, halves):
        train(cfg)
    assert close(weights(plain, 1), weights(halves, 1), atol=1e-5)


def test_mixed_precision_is_near_the_plain_run(make):
    cfg, plain = make('amp', 'ewc'), make('plain', 'ewc')
    cfg.amp = True
    assert 'Amp' in step_config(cfg, scenario_of(cfg), 0).optim_wrapper.type
    scores = [train(c).step(1)['accuracy_by_step'] for c in (cfg, plain)]
    assert scores[0] == pytest.approx(scores[1], abs=0.1)
    state = weights(cfg, 1)
    assert all(t.dtype == torch.float32 for t in state.values())
    assert not same(state, weights(plain, 1))
    assert close(state, weights(plain, 1), atol=0.05)
