import pytest
import torch
from torch import nn

from mmseg_spwc.consolidation import QuadraticPenalty, SIImportance


def train(si, model, inputs, targets, steps=5, penalty=None, lr=.05):
    """Returns omega and the start, kept by hand in python numbers."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=.9)
    params = dict(model.named_parameters())
    start = {n: p.detach().clone() for n, p in params.items()}
    omega = {n: torch.zeros_like(p) for n, p in params.items()}
    si.begin(params, None, 0)
    for _ in range(steps):
        optimizer.zero_grad()
        ((model(inputs) - targets)**2).mean().backward()
        grads = {n: p.grad.clone() for n, p in params.items()}
        before = {n: p.detach().clone() for n, p in params.items()}
        si.before_update(params)
        if penalty is not None:
            penalty.add_gradient_(params)
        optimizer.step()
        si.after_update(params)
        for name, param in params.items():
            omega[name] -= grads[name] * (param.detach() - before[name])
    return omega, start


def make():
    torch.manual_seed(0)
    return nn.Linear(3, 2), torch.randn(8, 3), torch.randn(8, 2)


@pytest.mark.parametrize('xi', [.1, 1e-3])
def test_importance_by_hand(xi):
    model, inputs, targets = make()
    si = SIImportance(xi=xi)
    omega, start = train(si, model, inputs, targets)
    importances = si.estimate(model, dict(model.named_parameters()), None)
    for name, param in model.named_parameters():
        expected = omega[name] / ((param - start[name])**2 + xi)
        torch.testing.assert_close(importances[name],
                                   expected.clamp(min=0).detach())


def test_the_penalty_does_not_count():
    """Importances come from the gradient before the penalty was added."""
    model, inputs, targets = make()
    penalty = QuadraticPenalty()
    penalty.add(5., {n: torch.ones_like(p)
                     for n, p in model.named_parameters()},
                {n: torch.zeros_like(p) for n, p in model.named_parameters()})
    si = SIImportance(xi=.1)
    omega, start = train(si, model, inputs, targets, penalty=penalty)
    importances = si.estimate(model, dict(model.named_parameters()), None)
    weight = model.weight
    expected = omega['weight'] / ((weight - start['weight'])**2 + .1)
    torch.testing.assert_close(importances['weight'],
                               expected.clamp(min=0).detach())


def test_loss_decrease_is_distributed_over_the_parameters():
    """With small steps the path integral is the drop of the loss."""
    model, inputs, targets = make()
    model, inputs, targets = model.double(), inputs.double(), targets.double()

    def loss():
        return ((model(inputs) - targets)**2).mean().item()

    before, si = loss(), SIImportance()
    omega, _ = train(si, model, inputs, targets, steps=200, lr=1e-4)
    total = sum(value.sum().item() for value in omega.values())
    assert total == pytest.approx(before - loss(), rel=5e-3)
    state = si.state_dict()
    assert state['omega.weight'].sum() + state[
        'omega.bias'].sum() == pytest.approx(total)


def test_negative_importance_is_clipped():
    """An update uphill lowers the credit below zero."""
    w = nn.Parameter(torch.ones(1))
    w.grad = torch.ones(1)
    si = SIImportance()
    si.begin({'w': w}, None, 0)
    si.before_update({'w': w})
    w.data += .5
    si.after_update({'w': w})
    assert si.state_dict()['omega.w'].item() == pytest.approx(-.5)
    assert si.estimate(None, {'w': w}, None)['w'].item() == 0


def test_unused_parameters_and_new_heads_have_no_importance():
    used, unused = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    si = SIImportance()
    si.begin({'used': used, 'unused': unused}, None, 0)
    used.grad = torch.ones(2)
    params = {'used': used, 'unused': unused, 'late': nn.Parameter(used + 1)}
    params['late'].grad = torch.ones(2)
    si.before_update(params)
    used.data -= .1
    si.after_update(params)
    importances = si.estimate(None, params, None)
    assert set(importances) == {'used', 'unused'}
    assert importances['used'].min() > 0 and not importances['unused'].any()


def test_state_survives_a_stop():
    model, inputs, targets = make()
    si, resumed = SIImportance(), SIImportance()
    train(si, model, inputs, targets)
    resumed.load_state_dict(si.state_dict())
    expected = si.estimate(model, dict(model.named_parameters()), None)
    result = resumed.estimate(model, dict(model.named_parameters()), None)
    assert all(torch.equal(result[n], expected[n]) for n in expected)
    assert expected['weight'].any()


def test_the_next_step_starts_afresh():
    model, inputs, targets = make()
    si = SIImportance()
    train(si, model, inputs, targets)
    si.begin(dict(model.named_parameters()), None, 1)
    importances = si.estimate(model, dict(model.named_parameters()), None)
    assert not any(value.any() for value in importances.values())


def test_wrong_use():
    with pytest.raises(ValueError, match='xi'):
        SIImportance(xi=0.)
    with pytest.raises(RuntimeError, match='begin was not'):
        SIImportance().estimate(None, {}, None)
