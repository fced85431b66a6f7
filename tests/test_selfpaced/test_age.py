import math

import pytest
import torch

from mmseg_spwc.selfpaced import age_from, difficulty

ETA = torch.tensor([.9, .1, .5, .3], dtype=torch.float64)


@pytest.mark.parametrize('policy, expected', [
    ({'type': 'fixed', 'mu': .7}, .7),
    ({'type': 'fixed', 'mu': math.inf}, math.inf),
    ({'type': 'threshold', 'psi_star': .7408}, 1.),
    ({'type': 'threshold', 'psi_star': .8934}, 2.),
    ({'type': 'threshold', 'psi_star': .9566}, 3.),
    ({'type': 'topk', 'k': 0}, .1),
    ({'type': 'topk', 'k': 2}, .5),
    ({'type': 'topk', 'k': 4}, .9009),
    ({'type': 'topk', 'k': 9}, .9009),
    ({'type': 'fraction', 'f': .5}, .5),
    ({'type': 'fraction', 'f': .49}, .3),
    ({'type': 'fraction', 'f': 1.}, .9009),
    ({'type': 'mean', 'scale': 2.}, .9),
])
def test_policies(policy, expected):
    assert age_from(policy, ETA) == pytest.approx(expected, rel=2e-3)


def test_schedule_grows_up_to_its_limit():
    policy = {'type': 'schedule', 'start': .5, 'factor': 2., 'limit': 3.}
    ages = [age_from(policy, ETA, step) for step in range(1, 6)]
    assert ages == [.5, 1, 2, 3, 3]
    steady = {'type': 'schedule', 'start': .5, 'factor': 1}
    assert [age_from(steady, ETA, step) for step in (1, 2, 9)] == [.5] * 3


def test_half_of_the_past_units_as_in_the_paper():
    """fraction(1/2) keeps floor((t-1)/2) tasks while learning task t."""
    for past in range(1, 10):
        eta = torch.rand(past, dtype=torch.float64)
        mu = age_from({'type': 'fraction', 'f': .5}, eta)
        assert int((eta < mu).sum()) == past // 2


def test_threshold_follows_the_scale_of_eta():
    mu = age_from({'type': 'threshold', 'psi_star': .8}, ETA, eta_scale=4.)
    assert mu == pytest.approx(difficulty(.8).item() / 4)


def test_units_as_hard_as_can_be_are_kept_by_a_large_k():
    mu = age_from({'type': 'topk', 'k': 2}, torch.zeros(2))
    assert mu > 0


def test_no_units_yet():
    empty = torch.zeros(0)
    assert age_from({'type': 'topk', 'k': 2}, empty) == 0
    assert age_from({'type': 'mean', 'scale': 1.}, empty) == 0


@pytest.mark.parametrize('policy, error', [
    ({'type': 'oldest'}, ValueError),
    ({'mu': 1.}, ValueError),
    ({'type': 'fixed', 'mu': math.nan}, ValueError),
    ({'type': 'fixed', 'k': 2}, TypeError),
    ({'type': 'topk', 'k': -1}, ValueError),
    ({'type': 'topk', 'k': 2.}, TypeError),
    ({'type': 'topk', 'k': True}, TypeError),
    ({'type': 'fraction', 'f': 50}, ValueError),
    ({'type': 'threshold', 'psi_star': 95.}, ValueError),
    ({'type': 'schedule', 'start': 1., 'factor': .5}, ValueError),
])
def test_bad_policies(policy, error):
    with pytest.raises(error):
        age_from(policy, ETA)
