"""The strength at which gradient updates of a penalty diverge."""
import pytest
import torch
from torch import nn

from mmseg_spwc.consolidation import (
    GradientUpdate,
    ProximalUpdate,
    QuadraticPenalty,
)


def largest_safe_factor(penalty, optimizer, kind=GradientUpdate):
    update = kind()
    update.attach(penalty, optimizer)
    return update.largest_safe_factor()


@pytest.mark.parametrize('options', [
    dict(momentum=0.), dict(momentum=0.9), dict(momentum=0.9, nesterov=True)])
def test_largest_safe_factor_is_where_sgd_starts_to_diverge(options):

    def distance(factor):
        param = nn.Parameter(torch.ones(1, dtype=torch.float64))
        sgd = torch.optim.SGD([param], 0.1, **options)
        penalty = QuadraticPenalty()
        penalty.add(factor, dict(p=torch.tensor([3.])),
                    dict(p=torch.tensor([0.])))
        for _ in range(2000):
            param.grad = torch.zeros_like(param)
            penalty.add_gradient_(dict(p=param))
            sgd.step()
        return abs(param.item()), largest_safe_factor(penalty, sgd)

    limit = distance(1.)[1]
    assert distance(0.99 * limit)[0] < 1e-3
    assert not distance(1.01 * limit)[0] < 1e3


def test_adam_and_proximal_updates_have_no_such_limit():
    penalty = QuadraticPenalty()
    penalty.add(1e9, dict(p=torch.ones(1)), dict(p=torch.zeros(1)))
    adam = torch.optim.Adam([nn.Parameter(torch.ones(1))])
    assert largest_safe_factor(penalty, adam) == float('inf')
    sgd = torch.optim.SGD([nn.Parameter(torch.ones(1))], 1., momentum=.9)
    assert largest_safe_factor(penalty, sgd) < 1e-8
    assert largest_safe_factor(penalty, sgd, ProximalUpdate) == float('inf')


def test_the_largest_rate_of_a_step_decides_not_that_of_a_warmup():
    penalty = QuadraticPenalty()
    penalty.add(1., dict(p=torch.ones(1)), dict(p=torch.zeros(1)))
    sgd = torch.optim.SGD([nn.Parameter(torch.ones(1))], 0.5)
    whole = largest_safe_factor(penalty, sgd)
    sgd.param_groups[0].update(lr=0.005, initial_lr=0.5)
    assert largest_safe_factor(penalty, sgd) == whole
