import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmseg_spwc.selfpaced import difficulty, priority_weights

units = st.lists(st.floats(0, 1), min_size=1, max_size=8)
RULES = ['spwc', 'hard', 'linear']

# after step 0 of a 10-1 overlapped run; weights printed in the analysis
# with psi before rounding, hence the tolerance
STEP_0 = [.95, .90, .42, .88, .71, .85, .95, .88, .92, .48, .91]
AUTHORS = [2.87, 2.06, .22, 1.88, .87, 1.59, 2.88, 1.86, 2.33, .31, 2.24]
PAPER_K10 = [.07, .53, .96, .59, .84, .67, 0, .59, .44, .94, .47]


def test_worked_example_of_the_paper_rule():
    psi = list(STEP_0)
    psi[6] += 1e-5  # the two .95 differ in the third digit
    v = priority_weights(psi, k=10)
    assert v.tolist()[1:] == pytest.approx(PAPER_K10[1:], abs=.02)
    assert 0 < v[0] < .08
    assert int((v > 0).sum()) == 10


def test_worked_example_of_the_authors_code():
    v = priority_weights(STEP_0, rule='authors_code')
    assert v.tolist() == pytest.approx(AUTHORS, rel=.06)
    assert torch.equal(v, difficulty(STEP_0))


@settings(deadline=None, max_examples=60)
@given(units, st.floats(.01, 8))
def test_equation_twelve_by_hand(psi, mu):
    expected = []
    for p in psi:
        eta = math.inf if p == 1 else -p * math.log1p(-p)
        expected.append(math.sqrt(1 - eta / mu) if eta < mu else 0)
    assert priority_weights(psi, mu=mu).tolist() == pytest.approx(
        expected, abs=1e-7)


@pytest.mark.parametrize('rule', RULES)
@settings(deadline=None, max_examples=40)
@given(psi=units, mu=st.floats(-1, 8))
def test_monotone_and_bounded(rule, psi, mu):
    psi = sorted(psi)
    v = priority_weights(psi, mu=mu, rule=rule)
    assert (v >= 0).all() and (v <= 1).all()
    assert (v.diff() <= 0).all()


@pytest.mark.parametrize('rule', RULES)
def test_edges(rule):
    assert priority_weights([0, 1], mu=2., rule=rule).tolist() == [1, 0]
    assert priority_weights([0, 1], mu=0., rule=rule).tolist() == [0, 0]
    everything = priority_weights([0, .9, 1], mu=math.inf, rule=rule)
    assert everything.tolist() == [1, 1, 1]


@pytest.mark.parametrize('rule', RULES)
@settings(deadline=None, max_examples=40)
@given(
    psi=st.lists(st.integers(0, 100), min_size=1, max_size=8, unique=True),
    k=st.integers(0, 10))
def test_k_keeps_the_k_hardest(rule, psi, k):
    psi = [p / 100 for p in psi]
    v = priority_weights(psi, k=k, rule=rule)
    kept = {p for p, weight in zip(psi, v.tolist(), strict=True) if weight > 0}
    assert kept == set(sorted(psi)[:k])


def test_k_is_the_next_easiness_as_age():
    psi = [.8, .3, .6]
    mu = -.8 * math.log(.2)
    assert torch.equal(
        priority_weights(psi, k=2), priority_weights(psi, mu=mu))
    largest = (1 + 1e-3) * difficulty(.8).item()
    assert torch.equal(
        priority_weights(psi, k=3), priority_weights(psi, mu=largest))


def test_ties_at_the_boundary_are_dropped_together():
    assert priority_weights([.2, .5, .5, .9], k=2).gt(0).tolist() == [
        True, False, False, False
    ]


def test_perfect_units_can_be_ranked():
    v = priority_weights([1., .5, 1.], k=3)
    assert (v > 0).all() and v[1] > v[0] == v[2]
    assert priority_weights([1., .5, 1.], k=1).gt(0).tolist() == [
        False, True, False
    ]


def test_a_perfect_unit_is_the_easiest_and_counts_as_just_below_one():
    """Its eta would be infinite; 1 - 1e-6 has 13.8."""
    eta = -(1 - 1e-6) * math.log(1e-6)
    assert priority_weights([1.], mu=13.8).item() == 0
    assert priority_weights([1.], mu=20.).item() == pytest.approx(
        math.sqrt(1 - eta / 20))
    assert priority_weights([1.], rule='authors_code').item() == \
        pytest.approx(eta)


def test_shape_is_kept():
    psi = torch.tensor([[.1, .2], [.3, 1.]])
    for shaped in (psi, psi[0, 0], psi[:0]):
        v = priority_weights(shaped, mu=2.)
        assert v.shape == shaped.shape and v.dtype == torch.float64


def test_unmeasured_units_are_an_error():
    with pytest.raises(ValueError, match='NaN'):
        priority_weights([.5, math.nan], mu=1.)


def test_forgotten_units_are_kept_by_a_large_k():
    assert priority_weights([0., 0.], k=2).tolist() == [1, 1]


def test_log_rule_with_a_scale():
    psi, mu, scale = [.5, .9, .97], .9, 3.
    eta = [-p * math.log(1 - p) / scale for p in psi]
    expected = [
        math.log(e + .1) / math.log(.1) if e < mu else 0 for e in eta
    ]
    v = priority_weights(psi, mu=mu, rule='log', eta_scale=scale)
    assert v.tolist() == pytest.approx(expected)
    with pytest.raises(ValueError, match='eta_scale'):
        priority_weights(psi, k=2, rule='log')


def test_nothing_learnt_before():
    assert priority_weights([], k=3).shape == (0, )
    assert priority_weights([], mu=1.).shape == (0, )


@pytest.mark.parametrize('kwargs', [
    {},
    {'mu': 1., 'k': 2},
    {'mu': 1., 'rule': 'authors_code'},
    {'k': 1, 'rule': 'authors_code'},
    {'mu': 1., 'rule': 'soft'},
    {'mu': math.nan},
    {'k': -1},
    {'mu': 1., 'eta_scale': 0.},
])
def test_bad_arguments(kwargs):
    with pytest.raises(ValueError):
        priority_weights([.5], **kwargs)


def test_an_age_may_be_a_tensor():
    psi = torch.tensor([.1, .9])
    assert torch.equal(priority_weights(psi, mu=torch.tensor(1.)),
                       priority_weights(psi, mu=1.))
    with pytest.raises(ValueError, match='mu'):
        priority_weights(psi, mu=torch.tensor(float('nan')))
