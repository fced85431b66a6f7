"""Softmax focal loss, averaged over all pixels."""
import torch.nn.functional as F
from torch import Tensor, nn

from mmseg_spwc.labels import VOID
from mmseg_spwc.registry import MODELS

from .pixels import check_labels, mean_over_pixels
from .precision import full_precision


@full_precision
def pixel_focal(logits: Tensor,
                labels: Tensor,
                pixel_weight: Tensor | None = None,
                gamma: float = 2.0,
                ignore_index: int = VOID) -> Tensor:
    r"""Focal loss :math:`-(1 - p_y)^\gamma \log p_y` with a softmax p.

    Args:
        logits (Tensor): (B, C, H, W).
        labels (Tensor): (B, H, W).
        pixel_weight (Tensor, optional): (B, H, W). Defaults to None.
        gamma (float): Focusing exponent. Defaults to 2.0.
        ignore_index (int): Label that counts nothing. Defaults to 255.

    Returns:
        Tensor: A scalar, the mean over all pixels, ignored ones included.
    """
    check_labels(logits, labels)
    entropy = F.cross_entropy(
        logits, labels.long(), ignore_index=ignore_index,
        reduction='none')  # (B, H, W)
    doubt = -(-entropy).expm1()  # 1 - p_y
    return mean_over_pixels(doubt**gamma * entropy, pixel_weight)


@MODELS.register_module()
class PixelFocalLoss(nn.Module):
    """Multi-class `focal loss <https://arxiv.org/abs/1708.02002>`_ over a
    softmax, as ALIFE's last stage uses it (mmseg's is over sigmoids).

    Args:
        gamma (float): Focusing exponent, 0 or at least 1 (in between, its
            gradient is infinite at a certain pixel). Defaults to 2.0.
        loss_weight (float): Factor of the loss. Defaults to 1.0.
        ignore_index (int): Label that counts nothing. Defaults to 255.
    """

    def __init__(self,
                 gamma: float = 2.0,
                 loss_weight: float = 1.0,
                 ignore_index: int = VOID) -> None:
        super().__init__()
        if gamma != 0 and gamma < 1:
            raise ValueError(f'gamma must be 0 or at least 1, got {gamma}')
        self.gamma = gamma
        self.loss_weight = loss_weight
        self.ignore_index = ignore_index

    def forward(self,
                logits: Tensor,
                labels: Tensor,
                num_old: int = 0,
                pixel_weight: Tensor | None = None) -> Tensor:
        """See :func:`pixel_focal`; ``num_old`` plays no part."""
        return self.loss_weight * pixel_focal(
            logits, labels, pixel_weight, self.gamma, self.ignore_index)
