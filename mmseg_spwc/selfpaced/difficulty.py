"""From how well a past unit is still done to how easy it is (eq. 9)."""
import math
from collections.abc import Sequence

import torch
from torch import Tensor


def difficulty(psi: Tensor | Sequence[float] | float) -> Tensor:
    r"""The paper's :math:`\eta = -\psi \ln(1 - \psi)` of a performance.

    The paper calls it difficulty, yet it grows with :math:`\psi`: it is 0 for
    a unit forgotten altogether and :math:`+\infty` for a perfect one.

    Args:
        psi: Key performance indicator (accuracy, IoU) of every past unit, as
            a fraction in [0, 1].

    Returns:
        Tensor: :math:`\eta` in float64, shaped like ``psi``.
    """
    psi = as_fraction(psi)
    return -psi * torch.log1p(-psi)


def as_fraction(psi: Tensor | Sequence[float] | float) -> Tensor:
    """Check that ``psi`` holds fractions and return it in float64."""
    psi = torch.as_tensor(psi, dtype=torch.float64).detach()
    if psi.isnan().any():
        raise ValueError(
            'psi holds NaN; give the performance of every unit, or None for '
            'a unit that was not measured (SelfPacedWeights)')
    low, high = (psi.min().item(), psi.max().item()) if psi.numel() else (0, 0)
    if low < 0 or high > 1:
        percent = low >= 0 and 1 < high <= 100 and not math.isinf(high)
        hint = '; it looks like a percentage, divide it by 100' * percent
        raise ValueError(
            f'psi must lie in [0, 1], got values from {low:g} to {high:g}'
            f'{hint}')
    return psi
