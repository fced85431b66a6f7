"""MiB's distillation, in which new classes belong to the old background."""
import torch
from torch import Tensor, nn

from mmseg_spwc.registry import MODELS

from .common import check_old_logits, full_precision, mean_over_pixels


@full_precision
def unbiased_distillation(logits: Tensor,
                          old_logits: Tensor,
                          old_weight: Tensor | None = None) -> Tensor:
    r"""Distillation against the old background joined with the new classes.

    With :math:`q` the old model's softmax and :math:`p` the new model's
    softmax over all :math:`C_{cur}` classes, the loss of a pixel is
    :math:`-\frac{1}{C_{old}} [q_0 \log(p_0 + \sum_{c \ge C_{old}} p_c) +
    \sum_{1 \le c < C_{old}} q_c \log p_c]`. Without a new class it equals
    LwF's distillation.

    Args:
        logits (Tensor): (B, C_cur, H, W).
        old_logits (Tensor): (B, C_old, H, W), taken as constants.
        old_weight (Tensor, optional): (B, H, W), a factor for every pixel.
            Defaults to None.

    Returns:
        Tensor: A scalar, the mean over all pixels, whatever their label.
    """
    check_old_logits(logits, old_logits)
    num_old = old_logits.shape[1]
    target = old_logits.detach().softmax(dim=1)
    # one split: each slice would fill a whole gradient with zeros
    background, others, new = logits.log_softmax(dim=1).split(
        [1, num_old - 1, logits.shape[1] - num_old], dim=1)
    joined = torch.cat([background, new], dim=1).logsumexp(dim=1)  # (B, H, W)
    loss = -target[:, 0] * joined - (target[:, 1:] * others).sum(dim=1)
    return mean_over_pixels(loss, old_weight) / num_old


@MODELS.register_module()
class UnbiasedDistillationLoss(nn.Module):
    """Unbiased distillation of `MiB <https://arxiv.org/abs/2002.00718>`_;
    the usual weight is 10, and 100 in RCIL and in steps of one class.

    Args:
        loss_weight (float): Factor of the loss. Defaults to 1.0.
    """

    def __init__(self, loss_weight: float = 1.0) -> None:
        super().__init__()
        self.loss_weight = loss_weight

    def forward(self,
                logits: Tensor,
                old_logits: Tensor,
                old_weight: Tensor | None = None) -> Tensor:
        """See :func:`unbiased_distillation`."""
        return self.loss_weight * unbiased_distillation(
            logits, old_logits, old_weight)
