"""Two ways for a quadratic penalty to enter an optimiser step."""
from collections.abc import Mapping

from torch import Tensor
from torch.optim import Optimizer

from mmseg_spwc.consolidation import QuadraticPenalty


class GradientUpdate:
    """Adds the penalty's gradient to that of the loss, before the step.

    Args:
        penalty (QuadraticPenalty): The penalty.
        optimizer (Optimizer): The optimiser that takes the step.
    """

    def __init__(self, penalty: QuadraticPenalty,
                 optimizer: Optimizer) -> None:
        self.penalty = penalty
        self.optimizer = optimizer

    def begin_step(self, params: Mapping[str, Tensor]) -> None:
        self.penalty.add_gradient_(params)

    def after_step(self, params: Mapping[str, Tensor]) -> None:
        pass


class ProximalUpdate(GradientUpdate):
    r"""Pulls the parameters towards the centre, after the step.

    The implicit form of the same update, which no strength makes diverge.
    It takes the learning rate and momentum that each parameter's group has
    at this step, and leaves parameters without a gradient alone.
    """

    def begin_step(self, params: Mapping[str, Tensor]) -> None:
        pass

    def after_step(self, params: Mapping[str, Tensor]) -> None:
        names = {
            id(param): name
            for name, param in params.items() if param.grad is not None
        }
        for group in self.optimizer.param_groups:
            moved = {
                names[id(param)]: param
                for param in group['params'] if id(param) in names
            }
            self.penalty.proximal_(moved, group['lr'],
                                   group.get('momentum', 0.))


UPDATES = dict(gradient=GradientUpdate, proximal=ProximalUpdate)


def largest_safe_factor(penalty: QuadraticPenalty,
                        optimizer: Optimizer) -> float:
    r"""The factor on the penalty at which gradient updates stop converging.

    SGD with momentum :math:`\beta` needs :math:`\mathrm{lr} \max 2A <
    2(1 + \beta)`; Nesterov's form only :math:`1 / (1 + 2\beta)` of that. The
    loss has a curvature of its own, so the true limit is a little lower.
    Optimisers without a momentum of this kind (Adam) have no such limit.

    Args:
        penalty (QuadraticPenalty): The penalty.
        optimizer (Optimizer): The optimiser; the largest learning rate of
            the step, ``initial_lr``, counts.

    Returns:
        float: Below 1 the penalty is too strong.
    """
    factors = [float('inf')]
    for group in optimizer.param_groups:
        if 'momentum' not in group:
            continue
        lr, momentum = group.get('initial_lr', group['lr']), group['momentum']
        factor = penalty.largest_safe_weight(lr, momentum)
        nesterov = 1 + 2 * momentum if group.get('nesterov') else 1
        factors.append(factor / nesterov)
    return min(factors)
