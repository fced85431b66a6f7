"""LwF-MC's classification loss: one binary decision for every class."""
import torch.nn.functional as F
from torch import Tensor, nn

from mmseg_spwc.labels import VOID
from mmseg_spwc.registry import MODELS

from .common import check_labels, full_precision, mean_over_pixels


@full_precision
def class_bce(logits: Tensor,
              labels: Tensor,
              pixel_weight: Tensor | None = None,
              ignore_index: int = VOID) -> Tensor:
    r"""Binary cross entropy, summed over classes, averaged over all pixels.

    :math:`\sum_c BCE(z_c, 1[y = c])`, which is
    :math:`\sum_c softplus(z_c) - z_y`; zero where the label is ignored.

    Args:
        logits (Tensor): (B, C, H, W).
        labels (Tensor): (B, H, W).
        pixel_weight (Tensor, optional): (B, H, W). Defaults to None.
        ignore_index (int): Label that counts nothing. Defaults to 255.

    Returns:
        Tensor: A scalar.
    """
    check_labels(logits, labels)
    labels = labels.long()
    valid = labels != ignore_index
    index = labels.where(valid, 0).unsqueeze(1)  # (B, 1, H, W)
    positive = logits.gather(1, index).squeeze(1)
    loss = (F.softplus(logits).sum(dim=1) - positive) * valid  # (B, H, W)
    return mean_over_pixels(loss, pixel_weight)


@MODELS.register_module()
class ClassBCELoss(nn.Module):
    """Classification loss of LwF-MC, after
    `iCaRL <https://arxiv.org/abs/1611.07725>`_.

    Args:
        loss_weight (float): Factor of the loss. Defaults to 1.0.
        ignore_index (int): Label that counts nothing. Defaults to 255.
    """

    def __init__(self,
                 loss_weight: float = 1.0,
                 ignore_index: int = VOID) -> None:
        super().__init__()
        self.loss_weight = loss_weight
        self.ignore_index = ignore_index

    def forward(self,
                logits: Tensor,
                labels: Tensor,
                num_old: int = 0,
                pixel_weight: Tensor | None = None) -> Tensor:
        """See :func:`class_bce`; ``num_old`` plays no part."""
        return self.loss_weight * class_bce(logits, labels, pixel_weight,
                                            self.ignore_index)
