"""LwF's knowledge distillation, head by head."""
from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from mmseg_spwc.registry import MODELS

from .common import full_precision, positive_temperature


@full_precision
def head_distillation(logits: Tensor,
                      old_logits: Tensor,
                      old_heads: Sequence[tuple[int, int]],
                      temperature: float = 2.0) -> Tensor:
    r"""Distillation of every old head, summed over the heads.

    With :math:`q^h` and :math:`p^h` the old and the new model's softmax at
    temperature T over the channels of head h, it is
    :math:`-\sum_h \frac1B \sum_b \sum_{c \in h} q^h_{bc} \log p^h_{bc}`.

    Args:
        logits (Tensor): (B, C).
        old_logits (Tensor): (B, C_old), taken as constants.
        old_heads (Sequence[tuple]): First channel and size of each old head,
            one after another from channel 0 on.
        temperature (float): T. Defaults to 2.0.

    Returns:
        Tensor: A scalar.
    """
    num_old = old_logits.shape[1]
    sizes = [size for _, size in old_heads]
    if sum(sizes) != num_old or logits.shape[1] < num_old:
        raise ValueError(
            f'The old heads have {sum(sizes)} channels, the previous model '
            f'{num_old} and the current one {logits.shape[1]}: the heads '
            'must be those of the previous model, and all of them be kept.')
    new = (logits[:, :num_old] / temperature).split(sizes, dim=1)
    old = (old_logits.detach() / temperature).split(sizes, dim=1)
    return sum(
        F.cross_entropy(p, q.softmax(1))
        for p, q in zip(new, old, strict=True))


@MODELS.register_module()
class HeadDistillationLoss(nn.Module):
    r"""Knowledge distillation of
    `LwF <https://arxiv.org/abs/1606.09282>`_ for image classifiers.

    Args:
        temperature (float): T, softens both distributions. Defaults to 2.0.
        loss_weight (float): Factor of the loss. Defaults to 1.0.
        scale_by_tasks (bool): Multiply by the number of earlier tasks. For
            tasks that share one head (domain-incremental learning), which
            then counts as often as separate heads would. Defaults to False.
        t_squared (bool): Multiply by :math:`T^2`, which keeps the size of
            the gradient. Defaults to False, as in LwF.
    """

    def __init__(self,
                 temperature: float = 2.0,
                 loss_weight: float = 1.0,
                 scale_by_tasks: bool = False,
                 t_squared: bool = False) -> None:
        super().__init__()
        self.temperature = positive_temperature(temperature)
        self.loss_weight = loss_weight
        self.scale_by_tasks = scale_by_tasks
        self.t_squared = t_squared

    def forward(self, logits: Tensor, old_logits: Tensor,
                old_heads: Sequence[tuple[int, int]],
                num_old_tasks: int) -> Tensor:
        """See :func:`head_distillation`."""
        factor = self.loss_weight
        if self.scale_by_tasks:
            factor = factor * num_old_tasks
        if self.t_squared:
            factor = factor * self.temperature**2
        return factor * head_distillation(logits, old_logits, old_heads,
                                          self.temperature)
