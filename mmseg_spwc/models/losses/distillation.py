"""LwF's knowledge distillation among the old classes."""
from torch import Tensor, nn

from mmseg_spwc.registry import MODELS

from .common import (
    check_old_logits,
    full_precision,
    mean_over_pixels,
    positive_temperature,
)


def distillation_map(logits: Tensor,
                     old_logits: Tensor,
                     temperature: float = 1.0) -> Tensor:
    r"""Distillation of every pixel.

    With :math:`q` the old model's softmax and :math:`p` the new model's
    softmax restricted to the old channels, both at temperature T, it is
    :math:`-\frac{T^2}{C_{old}} \sum_{c < C_{old}} q_c \log p_c`. The factor
    :math:`T^2` keeps the size of the gradient.

    Args:
        logits (Tensor): (B, C_cur, H, W).
        old_logits (Tensor): (B, C_old, H, W), taken as constants.
        temperature (float): T. Defaults to 1.0.

    Returns:
        Tensor: (B, H, W).
    """
    check_old_logits(logits, old_logits)
    num_old = old_logits.shape[1]
    target = (old_logits.detach() / temperature).softmax(dim=1)
    kept = logits[:, :num_old] / temperature
    loss = kept.logsumexp(dim=1) - (target * kept).sum(dim=1)
    return temperature**2 / num_old * loss


@full_precision
def distillation(logits: Tensor,
                 old_logits: Tensor,
                 temperature: float = 1.0,
                 old_weight: Tensor | None = None) -> Tensor:
    """Mean of :func:`distillation_map` over all pixels, a scalar."""
    return mean_over_pixels(
        distillation_map(logits, old_logits, temperature), old_weight)


@MODELS.register_module()
class DistillationLoss(nn.Module):
    """Knowledge distillation of
    `LwF <https://arxiv.org/abs/1606.09282>`_; the usual weight is 100.

    Args:
        temperature (float): Softens both distributions. Defaults to 1.0.
        loss_weight (float): Factor of the loss. Defaults to 1.0.
    """

    def __init__(self,
                 temperature: float = 1.0,
                 loss_weight: float = 1.0) -> None:
        super().__init__()
        self.temperature = positive_temperature(temperature)
        self.loss_weight = loss_weight

    def forward(self,
                logits: Tensor,
                old_logits: Tensor,
                old_weight: Tensor | None = None) -> Tensor:
        """See :func:`distillation_map`."""
        return self.loss_weight * distillation(
            logits, old_logits, self.temperature, old_weight)
