import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmseg_spwc.selfpaced import FORMS, get_rule
from mmseg_spwc.selfpaced.regularizers import Polynomial

GRID = torch.linspace(0, 1, 10001, dtype=torch.float64)
etas = st.lists(st.floats(0, 3), min_size=1, max_size=5)
ages = st.floats(.05, .95)


def objective(rule, eta, mu, v):
    return (eta * v).sum() + rule.value(v, mu)


@pytest.mark.parametrize('name', ['spwc', 'hard', 'linear', 'log'])
@settings(deadline=None, max_examples=25)
@given(eta=st.floats(0, 2), mu=ages)
def test_separable_weight_minimises_on_a_grid(name, eta, mu):
    rule = get_rule(name)
    one = torch.tensor([eta], dtype=torch.float64)
    v = rule.weights(one, mu)
    best = min(objective(rule, one, mu, g).item() for g in GRID[::50, None])
    assert objective(rule, one, mu, v).item() <= best + 1e-9
    assert 0 <= v.item() <= 1


@settings(deadline=None, max_examples=25)
@given(eta=etas, mu=ages)
def test_coupled_form_minimises_the_printed_regulariser(eta, mu):
    """Projected gradient on (1/3)||v||_2^3 - sum v cannot improve on it."""
    eta = torch.tensor(eta, dtype=torch.float64)
    rule = get_rule('spwc', 'coupled')
    v = rule.weights(eta, mu)

    def printed(x):
        return (eta * x).sum() + mu * (x.norm()**3 / 3 - x.sum())

    assert objective(rule, eta, mu, v).item() == pytest.approx(
        printed(v).item())
    searched = torch.full_like(eta, .5)
    for _ in range(800):
        gradient = eta + mu * (searched.norm() * searched - 1)
        searched = (searched - .2 / mu * gradient).clamp(0, 1)
    assert printed(v) <= printed(searched) + 1e-9
    torch.testing.assert_close(v, searched, atol=1e-2, rtol=0)


@settings(deadline=None, max_examples=25)
@given(u=st.floats(.01, 1), n=st.integers(1, 6))
def test_coupled_form_of_equal_units(u, n):
    eta = torch.full((n, ), 1 - u, dtype=torch.float64)
    v = get_rule('spwc', 'coupled').weights(eta, 1.)
    assert v.tolist() == pytest.approx([math.sqrt(u) * n**-.25] * n)


def test_coupled_and_separable_agree_where_the_norm_does():
    eta = torch.tensor([.1, .3, .9], dtype=torch.float64)
    for form in FORMS:
        v = get_rule('linear', form).weights(eta, .5)
        torch.testing.assert_close(
            v, torch.tensor([.8, .4, 0.], dtype=torch.float64))


@settings(deadline=None, max_examples=25)
@given(eta=etas, mu=ages)
def test_named_rules_are_members_of_the_family(eta, mu):
    eta = torch.tensor(eta, dtype=torch.float64)
    u = [max(0., 1 - e / mu) for e in eta.tolist()]
    assert get_rule('linear').weights(eta, mu).tolist() == pytest.approx(u)
    assert get_rule('spwc').weights(eta, mu).tolist() == pytest.approx(
        [x**.5 for x in u])
    hard = [float(e < mu) for e in eta.tolist()]
    assert get_rule('hard').weights(eta, mu).tolist() == hard
    inside = torch.tensor([x for x in u if x > 1e-3], dtype=torch.float64)
    high_power = Polynomial(1e-6).weights(1 - inside, 1.)  # p -> inf
    torch.testing.assert_close(
        high_power, torch.ones_like(inside), atol=1e-4, rtol=0)


def test_worked_values_of_all_rules():
    """mu = .35 and psi = .25, .35, .45, from the analysis of the paper."""
    psi = torch.tensor([.25, .35, .45], dtype=torch.float64)
    eta = -psi * torch.log(1 - psi)
    expected = {
        'hard': [1, 1, 1],
        'spwc': [.891, .754, .481],
        'linear': [.795, .569, .231],
        'log': [.756, .516, .196],
    }
    for name, v in expected.items():
        assert get_rule(name).weights(eta, .35).tolist() == pytest.approx(
            v, abs=6e-4)


def test_log_end_points_and_domain():
    rule = get_rule('log')
    eta = torch.tensor([0., .4, .7, math.inf], dtype=torch.float64)
    assert rule.weights(eta, .4).tolist() == pytest.approx([1, 0, 0, 0])
    for mu in (0., 1., 2., math.inf):
        with pytest.raises(ValueError, match='eta_scale'):
            rule.weights(eta, mu)


@pytest.mark.parametrize('name', ['spwc', 'hard', 'linear'])
def test_extreme_ages(name):
    eta = torch.tensor([0., .4, math.inf], dtype=torch.float64)
    rule = get_rule(name)
    assert rule.weights(eta, math.inf).tolist() == [1, 1, 1]
    assert rule.weights(eta, 0.).tolist() == [0, 0, 0]
    assert rule.weights(eta, -1.).tolist() == [0, 0, 0]
    assert rule.weights(eta, 5.).tolist()[-1] == 0
    assert get_rule('spwc', 'coupled').weights(eta, -1.).sum() == 0


def test_values_in_closed_form():
    v = torch.tensor([.5, 1.], dtype=torch.float64)
    value = {name: rule.value for name, rule in FORMS['separable'].items()}
    assert value['hard'](v, 2.).item() == pytest.approx(-3)
    assert value['linear'](v, 2.).item() == pytest.approx(
        2 * (.125 - .5 + .5 - 1))
    assert value['spwc'](v, 2.).item() == pytest.approx(
        2 * (.125 / 3 - .5 + 1 / 3 - 1))
    zeta = .6
    assert value['log'](v, .4).item() == pytest.approx(
        sum(zeta * x - zeta**x / math.log(zeta) for x in (.5, 1)))
    assert value['authors_code'](v, math.nan).item() == pytest.approx(
        math.sqrt(1.125) / 3 - 1.5)


def test_unknown_names():
    with pytest.raises(ValueError, match='rule must be one of'):
        get_rule('soft')
    with pytest.raises(ValueError, match='form must be one of'):
        get_rule('spwc', 'joint')
    with pytest.raises(ValueError, match='coupled form'):
        get_rule('hard', 'coupled')
