"""MiB's cross entropy, in which background stands for every old class."""
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mmseg_spwc.labels import VOID
from mmseg_spwc.registry import MODELS

from .common import check_labels, full_precision, mean_over_pixels


@full_precision
def unbiased_cross_entropy(logits: Tensor,
                           labels: Tensor,
                           num_old: int,
                           pixel_weight: Tensor | None = None,
                           ignore_index: int = VOID,
                           new_offset: float = 0.) -> Tensor:
    r"""Cross entropy over {any old class} and the single new classes.

    With :math:`p` the softmax over all classes, the loss of a pixel is
    :math:`-\log \sum_{c < C_{old}} p_c` if its label is an old class or
    background, and :math:`-\log p_y` if it is a new one. It is the plain
    cross entropy once the old logits are joined by a logsumexp.

    Args:
        logits (Tensor): (B, C_cur, H, W).
        labels (Tensor): (B, H, W).
        num_old (int): C_old, channels of the previous model, background
            included. 0, as before any step, gives plain cross entropy.
        pixel_weight (Tensor, optional): (B, H, W). Defaults to None.
        ignore_index (int): Label that counts nothing. Defaults to 255.
        new_offset (float): Added to the logits of the new classes, here
            alone: the logarithm of how much more often they occur in the
            images of their step, which all show them, than in a test.
            Defaults to 0.

    Returns:
        Tensor: A scalar, the mean over all pixels, ignored ones included.
    """
    check_labels(logits, labels)
    if not 0 <= num_old <= logits.shape[1]:
        raise ValueError(f'num_old must lie between 0 and the '
                         f'{logits.shape[1]} classes, got {num_old}')
    labels = labels.long()
    if num_old > 0:
        # one split: each slice would fill a whole gradient with zeros
        old, new = logits.split([num_old, logits.shape[1] - num_old], dim=1)
        new = new + new_offset if new_offset else new
        logits = torch.cat([old.logsumexp(dim=1, keepdim=True), new], dim=1)
        # old classes -> 0, new ones -> 1, 2, ...
        joined = (labels - num_old + 1).clamp(min=0)
        labels = joined.masked_fill(labels == ignore_index, ignore_index)
    loss = F.cross_entropy(
        logits, labels, ignore_index=ignore_index,
        reduction='none')  # (B, H, W)
    return mean_over_pixels(loss, pixel_weight)


@MODELS.register_module()
class UnbiasedCrossEntropyLoss(nn.Module):
    """Unbiased cross entropy of `MiB <https://arxiv.org/abs/2002.00718>`_.

    Args:
        loss_weight (float): Factor of the loss. Defaults to 1.0.
        ignore_index (int): Label that counts nothing. Defaults to 255.
        new_offset (float): Prior correction, see
            :func:`unbiased_cross_entropy`. Defaults to 0.
    """

    def __init__(self,
                 loss_weight: float = 1.0,
                 ignore_index: int = VOID,
                 new_offset: float = 0.) -> None:
        super().__init__()
        self.new_offset = new_offset
        self.loss_weight = loss_weight
        self.ignore_index = ignore_index

    def forward(self,
                logits: Tensor,
                labels: Tensor,
                num_old: int,
                pixel_weight: Tensor | None = None) -> Tensor:
        """See :func:`unbiased_cross_entropy`."""
        return self.loss_weight * unbiased_cross_entropy(
            logits, labels, num_old, pixel_weight, self.ignore_index,
            self.new_offset)
