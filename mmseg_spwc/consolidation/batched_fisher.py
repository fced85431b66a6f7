"""Importance from batch gradients, as other toolkits compute it."""
from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .side_effects import no_side_effects


def batched_fisher(model: nn.Module,
                   batches: Iterable[tuple[Tensor, Tensor]],
                   reduction: str = 'mean') -> dict[str, Tensor]:
    r"""Squared gradients of whole batches at the true labels.

    For comparison with published strengths only: it is not the Fisher
    diagonal. With per-sample gradients of mean :math:`\bar g` and variance
    :math:`\sigma^2`, batches of B samples and n samples in all,

    * ``mean`` averages squared batch means, :math:`\sigma^2/B + \bar g^2`;
    * ``sum`` divides squared batch sums by n, :math:`\sigma^2 + B \bar g^2`,
      which is B times the former;
    * :func:`fisher_diagonal` estimates :math:`\sigma^2 + \bar g^2`.

    Args:
        model: Returns logits.
        batches: Pairs of inputs and labels.
        reduction: ``mean`` or ``sum``.

    Returns:
        dict: Importance of every parameter that requires a gradient.
    """
    if reduction not in ('mean', 'sum'):
        raise ValueError(f"reduction must be 'mean' or 'sum', got {reduction}")
    params = {n: p for n, p in model.named_parameters() if p.requires_grad}
    totals = {n: torch.zeros_like(p) for n, p in params.items()}
    count = 0
    with no_side_effects(model):
        for inputs, labels in batches:
            loss = F.cross_entropy(model(inputs), labels, reduction=reduction)
            grads = torch.autograd.grad(
                loss, list(params.values()), allow_unused=True)
            for total, grad in zip(totals.values(), grads, strict=True):
                if grad is not None:
                    total.addcmul_(grad, grad)
            count += 1 if reduction == 'mean' else len(inputs)
    if not count:
        raise ValueError('no samples to estimate importances from')
    return {name: total / count for name, total in totals.items()}
