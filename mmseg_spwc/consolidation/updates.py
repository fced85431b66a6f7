"""Two ways for a quadratic penalty to enter an update of the optimiser."""
from collections.abc import Mapping

from torch import Tensor
from torch.optim import Optimizer

from .quadratic import QuadraticPenalty


class GradientUpdate:
    """Adds the penalty's gradient to that of the loss, before the update."""

    def attach(self, penalty: QuadraticPenalty, optimizer: Optimizer) -> None:
        """Apply this penalty, to parameters that this optimiser moves."""
        self.penalty = penalty
        self.optimizer = optimizer

    def before_update(self, params: Mapping[str, Tensor]) -> None:
        """Called when the loss's gradients are complete."""
        self.penalty.add_gradient_(params)

    def after_update(self, params: Mapping[str, Tensor]) -> None:
        """Called when the optimiser has moved the parameters."""

    def largest_safe_factor(self) -> float:
        r"""The factor on the penalty at which updates stop converging.

        See :meth:`QuadraticPenalty.largest_safe_weight`; Nesterov's form
        allows :math:`1 / (1 + 2\beta)` of that, and the loss's own curvature
        a little less. Optimisers without momentum (Adam) have no limit. Below
        1 the penalty is too strong.
        """
        factors = [float('inf')]
        for group in self.optimizer.param_groups:
            if 'momentum' not in group:
                continue
            momentum = group['momentum']
            factor = self.penalty.largest_safe_weight(
                group.get('initial_lr', group['lr']), momentum)
            nesterov = 1 + 2 * momentum if group.get('nesterov') else 1
            factors.append(factor / nesterov)
        return min(factors)


class ProximalUpdate(GradientUpdate):
    r"""Pulls the parameters towards the centre, after the update.

    The implicit form of the same update, which no strength makes diverge.
    It takes the learning rate and momentum that each parameter's group has
    at this time, and leaves parameters without a gradient alone.
    """

    def before_update(self, params: Mapping[str, Tensor]) -> None:
        pass

    def after_update(self, params: Mapping[str, Tensor]) -> None:
        names = {id(param): name for name, param in params.items()
                 if param.grad is not None}
        for group in self.optimizer.param_groups:
            moved = {names[id(param)]: param for param in group['params']
                     if id(param) in names}
            self.penalty.proximal_(moved, group['lr'],
                                   group.get('momentum', 0.))

    def largest_safe_factor(self) -> float:
        return float('inf')
