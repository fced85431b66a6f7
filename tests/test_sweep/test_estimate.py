"""How long a sweep takes."""
import pytest

from mmseg_spwc.record import Record
from mmseg_spwc.sweep.estimate import (
    START,
    duration,
    seconds_per_iteration,
    slots,
    trial_seconds,
)
from mmseg_spwc.sweep.sweep_file import Sweep


def record(*times):
    return Record(dict(steps=[
        dict(step=i, cost=dict(wall_time=t)) for i, t in enumerate(times)]))


def test_speeds_are_those_of_later_steps_where_there_are_any():
    iterations = dict.fromkeys('abc', {0: 100, 1: 10, 2: 10})
    speeds = seconds_per_iteration(
        dict(a=record(0., 20., 40.), b=record(100.), c=None), iterations,
        dict(a='x', b='y', c='y'))
    assert speeds == {'x': 3., 'y': 1., None: pytest.approx(7 / 3)}


def test_time_of_what_is_left():
    assert trial_seconds({0: 5, 1: 3}, 2.) == START + 16
    assert trial_seconds({0: 5, 1: 3}, 2., [0]) == START + 6


@pytest.mark.parametrize('cpus, gpus, have, expected', [
    (1, 0, (4, 0), 4), (3, 0, (4, 0), 1), (1, 1, (8, 2), 2),
    (2, .5, (6, 2), 3), (8, 0, (4, 0), 1)])
def test_trials_at_a_time(cpus, gpus, have, expected):
    sweep = Sweep('s', (), (), (), None, cpus, gpus, 0, 'w')
    assert slots(sweep, *have) == expected


@pytest.mark.parametrize('seconds, text', [
    (5, '5 s'), (89, '89 s'), (150, '2 min'), (5399, '90 min'),
    (7200, '2.0 h')])
def test_units(seconds, text):
    assert duration(seconds) == text
