"""What a caller of the package, not a config, gets wrong."""
import functools

import torch
from digit_runs import digits
from mmengine.registry import init_default_scope
from mmpretrain.structures import DataSample
from wrong_inputs import Row

from mmseg_spwc.config.step import scenario_of, step_config
from mmseg_spwc.registry import MODELS
from mmseg_spwc.selfpaced import difficulty, priority_weights


def scored(function, psi):
    return lambda case: function(torch.tensor(psi))


def predicted(*samples):
    """Ask a classifier with a head per task, after two tasks."""

    def make(case):
        cfg = digits(case.folder / 'run', 'ewc', **{
            'scenario.heads': 'per_step'})
        init_default_scope('mmpretrain')
        out = step_config(cfg, scenario_of(cfg), 1)
        MODELS.build(out.model).eval().predict(
            torch.zeros(1, 1, 32, 32), *samples)

    return make


SCORES = [
    Row(f'{name} {what}', scored(function, psi), says)
    for name, function in (
        ('difficulty', difficulty),
        ('weights', functools.partial(priority_weights, mu=1.)))
    for what, psi, says in (
        ('of a percent', [63.1], 'divide it by 100'),
        ('of a percent and a fraction', [0.4, 40.], 'divide it by 100'),
        ('of NaN', [float('nan')], 'holds NaN'),
        ('of a negative score', [-.1], r'must lie in \[0, 1\]'))
]

CALLS = [Row(*row) for row in (
    ('task that has no head', predicted([DataSample(task=2)]),
     r'of task 2, .* tasks \[0, 1\]'),
    ('image of no task', predicted(), 'task of every image is needed'),
)]
