import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmseg_spwc.selfpaced import SelfPacedWeights, difficulty, priority_weights

PSI = [.3, .8, .5, .7]


RULES = st.one_of(
    st.fixed_dictionaries(dict(
        rule=st.sampled_from(['spwc', 'hard', 'linear']),
        mu=st.floats(-1, 40) | st.just(math.inf))),
    st.fixed_dictionaries(dict(
        rule=st.sampled_from(['spwc', 'hard', 'linear']),
        k=st.integers(0, 9))),
    st.fixed_dictionaries(dict(
        rule=st.just('log'), mu=st.floats(.01, .99))),
    st.just(dict(rule='authors_code')))


@settings(deadline=None, max_examples=200)
@given(st.lists(st.floats(0, 1) | st.sampled_from([0., 1., 1 - 1e-9]),
                max_size=8), RULES, st.sampled_from([1., 3.]))
def test_decides_as_priority_weights_does(psi, options, eta_scale):
    """Bit for bit, at the ends of the scale too."""
    v = SelfPacedWeights(eta_scale=eta_scale, **options)(psi).v
    expected = priority_weights(psi, eta_scale=eta_scale, **options)
    assert torch.equal(v, expected)
    assert v.isfinite().all() and (v >= 0).all()


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0, .99), min_size=1, max_size=6), st.floats(.1, 5))
def test_defaults_are_the_papers_rule(psi, mu):
    chosen = SelfPacedWeights(mu=mu)(psi)
    assert torch.equal(chosen.eta, difficulty(psi))
    v = chosen.v.tolist()
    assert chosen.mu == mu and chosen.missing == ()
    assert chosen.f == pytest.approx(mu * sum(x**3 / 3 - x for x in v))
    assert chosen.kept == sum(x > 0 for x in v)


def test_k_and_age_policies_agree():
    by_k = SelfPacedWeights(k=2)(PSI)
    by_age = SelfPacedWeights(age={'type': 'fraction', 'f': .5})(PSI)
    assert torch.equal(by_k.v, by_age.v)
    assert by_k.mu == pytest.approx(difficulty(.7).item())


def test_coupled_form():
    chosen = SelfPacedWeights(mu=2., form='coupled')(PSI)
    u = (1 - difficulty(PSI) / 2.).clamp(min=0)
    torch.testing.assert_close(chosen.v, u / u.norm().sqrt())


def test_newest_units_are_protected():
    plain = SelfPacedWeights(k=2)(PSI).v
    task = SelfPacedWeights(k=2, protect_last=True)(PSI).v
    assert task.tolist() == [*plain[:3].tolist(), 1]
    classes = SelfPacedWeights(k=2, protect_last=True)(PSI, newest=3).v
    assert classes.tolist() == [plain[0].item(), 1, 1, 1]


def test_floor():
    v = SelfPacedWeights(k=2, min_weight=.25)(PSI).v
    plain = priority_weights(PSI, k=2)
    assert v.tolist() == [max(x, .25) for x in plain.tolist()]


def test_normalisation():
    assert SelfPacedWeights(
        k=2, normalise='sum')(PSI).v.sum().item() == pytest.approx(4)
    largest = SelfPacedWeights(k=2, normalise='max')(PSI).v
    plain = priority_weights(PSI, k=2)
    torch.testing.assert_close(largest, plain / plain.max())
    for norm in ('sum', 'max'):
        nothing = SelfPacedWeights(mu=0., normalise=norm)(PSI).v
        assert nothing.tolist() == [0, 0, 0, 0]


def test_unmeasured_units_keep_weight_one_and_are_reported():
    chosen = SelfPacedWeights(k=1)([.3, None, .8, math.nan])
    assert chosen.missing == (1, 3)
    assert chosen.v.tolist()[1::2] == [1, 1]
    measured = priority_weights([.3, .8], k=1)
    assert torch.equal(chosen.v[::2], measured)
    assert chosen.psi[1].isnan() and chosen.eta[3].isnan()
    assert math.isfinite(chosen.f)
    nothing = SelfPacedWeights(k=1)([None, None])
    assert nothing.v.tolist() == [1, 1] and nothing.f == 0


def test_relative_to_the_own_best():
    chosen = SelfPacedWeights(mu=1., relative=True)([.2, .3, 0., .5],
                                                    best=[.4, .3, 0., .2])
    assert chosen.psi.tolist() == pytest.approx([.5, 1, 0, 1])
    with pytest.raises(ValueError, match='best'):
        SelfPacedWeights(mu=1., relative=True)(PSI)
    with pytest.raises(ValueError, match='divide it by 100'):
        SelfPacedWeights(mu=1., relative=True)([63.], best=[70.])


def test_perfect_unit_is_finite_everywhere():
    chosen = SelfPacedWeights(rule='authors_code')([1., .5])
    assert chosen.v.isfinite().all() and math.isnan(chosen.mu)
    assert chosen.v[0].item() == pytest.approx(-math.log(1e-6), rel=1e-4)


def test_schedule_sees_the_step():
    pace = SelfPacedWeights(
        age={
            'type': 'schedule',
            'start': .2,
            'factor': 3.
        })
    assert pace(PSI, step=3).mu == pytest.approx(1.8)
    assert pace(PSI, step=3).kept > pace(PSI, step=1).kept


def test_first_step_has_no_units():
    chosen = SelfPacedWeights(k=3)([])
    assert chosen.v.shape == (0, ) and chosen.kept == 0


@pytest.mark.parametrize('kwargs', [
    {},
    {'mu': 1., 'age': {'type': 'topk', 'k': 1}},
    {'rule': 'authors_code', 'k': 3},
    {'mu': 1., 'normalise': 'mean'},
    {'mu': 1., 'form': 'joint'},
    {'mu': 1., 'min_weight': 2.},
    {'mu': 1., 'eps': 0.},
    {'mu': 1., 'eta_scale': -1.},
])
def test_bad_settings(kwargs):
    with pytest.raises(ValueError):
        SelfPacedWeights(**kwargs)


def test_controls_keep_the_sum_but_not_the_priority():
    options = dict(mu=2., normalise='sum')
    v = SelfPacedWeights(**options)(PSI).v
    mean = SelfPacedWeights(control='mean', **options)(PSI).v
    torch.testing.assert_close(mean, torch.ones(4, dtype=torch.float64))
    dealt = [
        SelfPacedWeights(control='shuffle', **options)(PSI, step=s).v
        for s in range(1, 30)
    ]
    for shuffled in dealt:
        assert torch.equal(shuffled.sort().values, v.sort().values)
    assert len({tuple(x.tolist()) for x in dealt}) > 5
    again = SelfPacedWeights(control='shuffle', **options)(PSI, step=3).v
    assert torch.equal(again, dealt[2])
    const = SelfPacedWeights(control=1.3, **options)([None, *PSI]).v
    assert const.tolist() == [1., 1.3, 1.3, 1.3, 1.3]


@pytest.mark.parametrize('control', ['random', -1, True])
def test_unknown_controls_are_refused(control):
    with pytest.raises(ValueError, match='control'):
        SelfPacedWeights(mu=1., control=control)
