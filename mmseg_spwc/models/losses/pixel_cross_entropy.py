"""Plain cross entropy, averaged over all pixels."""
import torch.nn.functional as F
from torch import Tensor, nn

from mmseg_spwc.labels import VOID
from mmseg_spwc.registry import MODELS

from .common import check_labels, full_precision, mean_over_pixels


@full_precision
def pixel_cross_entropy(logits: Tensor,
                        labels: Tensor,
                        pixel_weight: Tensor | None = None,
                        ignore_index: int = VOID) -> Tensor:
    """Cross entropy, summed over valid pixels, divided by all pixels.

    Args:
        logits (Tensor): (B, C, H, W).
        labels (Tensor): (B, H, W).
        pixel_weight (Tensor, optional): (B, H, W). Defaults to None.
        ignore_index (int): Label that counts nothing. Defaults to 255.

    Returns:
        Tensor: A scalar.
    """
    check_labels(logits, labels)
    loss = F.cross_entropy(
        logits, labels.long(), ignore_index=ignore_index,
        reduction='none')  # (B, H, W)
    return mean_over_pixels(loss, pixel_weight)


@MODELS.register_module()
class PixelCrossEntropyLoss(nn.Module):
    """Plain cross entropy in the call shape of the continual losses.

    Args:
        ignore_background (bool): Leave label 0 out, so that only the classes
            of the current step are learnt (ALIFE). Defaults to False.
        loss_weight (float): Factor of the loss. Defaults to 1.0.
        ignore_index (int): Label that counts nothing. Defaults to 255.
    """

    def __init__(self,
                 ignore_background: bool = False,
                 loss_weight: float = 1.0,
                 ignore_index: int = VOID) -> None:
        super().__init__()
        self.ignore_background = ignore_background
        self.loss_weight = loss_weight
        self.ignore_index = ignore_index

    def forward(self,
                logits: Tensor,
                labels: Tensor,
                num_old: int = 0,
                pixel_weight: Tensor | None = None) -> Tensor:
        """See :func:`pixel_cross_entropy`; ``num_old`` plays no part."""
        if self.ignore_background:
            labels = labels.masked_fill(labels == 0, self.ignore_index)
        return self.loss_weight * pixel_cross_entropy(
            logits, labels, pixel_weight, self.ignore_index)
