r"""Fold weighted quadratics, one after the other, into one."""
from collections.abc import Sequence

import torch
from torch import Tensor

# weight, importance, anchor
Term = tuple[float, Tensor, Tensor]

BLOCK = 2**16  # numbers in work at a time, so that a cache holds all of them


def fold_(strength: Tensor, centre: Tensor, terms: Sequence[Term]) -> float:
    r"""Fold terms :math:`w\Gamma(\theta - \theta^*)^2` into
    :math:`A(\theta - c)^2`.

    With the share :math:`s = w\Gamma / (A + w\Gamma)` each of them makes
    :math:`c \leftarrow c + s(\theta^* - c)` and :math:`A \leftarrow A +
    w\Gamma`. Every number goes its own way, so the blocks change no bit.

    Args:
        strength: A, contiguous float64 on the CPU, changed in place.
        centre: c, likewise.
        terms: Of the same shape, in any type and layout.

    Returns:
        float: What the terms add beside :math:`A(\theta - c)^2`.
    """
    strength, centre = strength.view(-1), centre.view(-1)
    terms = [(weight, *(x.detach().to('cpu').reshape(-1) for x in tensors))
             for weight, *tensors in terms]
    constant = torch.zeros((), dtype=torch.float64)
    buffers = torch.empty(
        4, min(BLOCK, strength.numel()), dtype=torch.float64)
    for start in range(0, strength.numel(), BLOCK):
        part = slice(start, start + BLOCK)
        middle = centre[part]
        before, total, pull, shift = buffers[:, :middle.numel()]
        before.copy_(strength[part])
        for weight, gamma, anchor in terms:
            pull.copy_(gamma[part]).mul_(weight)
            torch.add(before, pull, out=total)
            pull.div_(total).nan_to_num_(0.)  # 0 / 0
            shift.copy_(anchor[part]).sub_(middle)
            middle.add_(pull.mul_(shift))
            # parallel axes: every term is positive, nothing cancels
            constant += torch.dot(before, pull.mul_(shift))
            before, total = total, before
        strength[part] = before
    return constant.item()
