r"""Policies for the age :math:`\mu_m`, above which a unit is dropped.

The useful range of :math:`\mu` depends on the accuracies at hand (about 3 for
MNIST, 0.5 for CIFAR-100), so most policies state it in other words. Each one
is called with the easiness of the past units, the step and the divisor that
was applied to the easiness.
"""
import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from mmseg_spwc.utils.options import check_options

from .regularizers import difficulty


def fixed(eta: Tensor, step: int, eta_scale: float, mu: float) -> float:
    """The same age at every step."""
    return float(mu)


def threshold(eta: Tensor, step: int, eta_scale: float,
              psi_star: float) -> float:
    """Drop the units that reach the accuracy ``psi_star``."""
    if not 0 <= psi_star <= 1:
        raise ValueError(f'psi_star must lie in [0, 1], got {psi_star}: '
                         'divide a percentage by 100')
    return difficulty(psi_star).item() / eta_scale


def topk(eta: Tensor, step: int, eta_scale: float, k: int) -> float:
    """Keep the ``k`` hardest units: the age is the next easiness.

    Units tied with the (k+1)-th hardest one are dropped with it. With ``k``
    at or above their number the age keeps them all.
    """
    if k < 0:
        raise ValueError(f'k must not be negative, got {k}')
    if not eta.numel():
        return 0.
    if k < eta.numel():
        return eta.flatten().sort().values[k].item()
    # the floor keeps units with eta = 0 when all of them are that hard
    return max((1 + 1e-3) * eta.max().item(), 1e-12)


def fraction(eta: Tensor, step: int, eta_scale: float, f: float) -> float:
    """Keep the hardest share ``f`` of the units, rounded down."""
    if not 0 <= f <= 1:
        raise ValueError(f'f must lie in [0, 1], got {f}')
    return topk(eta, step, eta_scale, math.floor(f * eta.numel()))


def schedule(eta: Tensor, step: int, eta_scale: float, start: float,
             factor: float, limit: float = math.inf) -> float:
    """An age that grows by ``factor`` per step, as in self-paced learning.

    ``start`` is the age of step 1, the first one with something to remember.
    """
    if factor < 1:
        raise ValueError(
            f'factor must be at least 1 so that the age grows, got {factor}')
    return min(start * factor**(step - 1), limit)


def mean(eta: Tensor, step: int, eta_scale: float, scale: float) -> float:
    """A multiple of the mean easiness."""
    return scale * eta.mean().item() if eta.numel() else 0.


AGES: dict[str, Callable[..., float]] = {
    policy.__name__: policy
    for policy in (fixed, threshold, topk, fraction, schedule, mean)
}


def age_from(policy: Mapping, eta: Tensor, step: int = 1,
             eta_scale: float = 1.) -> float:
    """Compute the age of one step, in the units of ``eta``, by a policy such
    as ``dict(type='fraction', f=0.5)``; ``eta`` is already divided by
    ``eta_scale``."""
    params = dict(policy)
    name = params.pop('type', None)
    if name not in tuple(AGES):  # a list cannot be looked up
        raise ValueError(
            f'age policy type must be one of {list(AGES)}, got {name!r}')
    check_options(AGES[name], params, 'self_paced.age')
    return AGES[name](torch.as_tensor(eta), step, eta_scale, **params)
