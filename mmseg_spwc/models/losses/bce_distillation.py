"""LwF-MC's distillation loss: the old model's binary decisions."""
import torch.nn.functional as F
from torch import Tensor, nn

from mmseg_spwc.registry import MODELS

from .common import check_old_logits, full_precision


@full_precision
def bce_distillation(logits: Tensor, old_logits: Tensor) -> Tensor:
    r"""Binary cross entropy against the old model's sigmoid scores.

    :math:`\sum_{c < C_{old}} BCE(z_c, \sigma(z^{old}_c))`, averaged over all
    pixels, whatever their label.

    Args:
        logits (Tensor): (B, C_cur, H, W).
        old_logits (Tensor): (B, C_old, H, W), taken as constants.

    Returns:
        Tensor: A scalar.
    """
    check_old_logits(logits, old_logits)
    num_old = old_logits.shape[1]
    loss = F.binary_cross_entropy_with_logits(
        logits[:, :num_old], old_logits.detach().sigmoid())
    return num_old * loss


@MODELS.register_module()
class BCEDistillationLoss(nn.Module):
    """Distillation loss of LwF-MC, after
    `iCaRL <https://arxiv.org/abs/1611.07725>`_; the usual weight is 10.

    Args:
        loss_weight (float): Factor of the loss. Defaults to 1.0.
    """

    def __init__(self, loss_weight: float = 1.0) -> None:
        super().__init__()
        self.loss_weight = loss_weight

    def forward(self, logits: Tensor, old_logits: Tensor) -> Tensor:
        """See :func:`bce_distillation`."""
        return self.loss_weight * bce_distillation(logits, old_logits)
