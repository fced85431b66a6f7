"""Cross entropy of images among the channels that compete for them."""
import torch.nn.functional as F
from torch import Tensor, nn

from mmseg_spwc.registry import MODELS

from .common import full_precision


@full_precision
def task_cross_entropy(logits: Tensor,
                       labels: Tensor,
                       mask: Tensor | None = None,
                       label_smoothing: float = 0.) -> Tensor:
    r"""Mean cross entropy, the softmax taken over each image's own channels.

    With :math:`p` the softmax over the channels that ``mask`` allows an
    image, :math:`n` their number and :math:`\epsilon` the smoothing, it is
    :math:`-(1 - \epsilon) \log p_y - \frac\epsilon n \sum_c \log p_c`.

    Args:
        logits (Tensor): (B, C).
        labels (Tensor): Channels, (B,). One that its image's mask does not
            allow has an infinite loss.
        mask (Tensor, optional): Allowed channels, (B, C), bool; None allows
            all. Defaults to None.
        label_smoothing (float): :math:`\epsilon`. Defaults to 0.

    Returns:
        Tensor: A scalar.
    """
    if labels.shape != logits.shape[:1]:
        raise ValueError(
            f'logits {tuple(logits.shape)} need one label an image, but got '
            f'labels of shape {tuple(labels.shape)}.')
    if mask is None:
        return F.cross_entropy(
            logits, labels, label_smoothing=label_smoothing)
    log_p = logits.masked_fill(~mask, float('-inf')).log_softmax(1)  # (B, C)
    loss = F.nll_loss(log_p, labels)
    if label_smoothing:
        uniform = -log_p.masked_fill(~mask, 0).sum(1) / mask.sum(1)  # (B,)
        loss = loss.lerp(uniform.mean(), label_smoothing)
    return loss


@MODELS.register_module()
class TaskCrossEntropyLoss(nn.Module):
    """Cross entropy of a classifier with one head, or a head per task.

    Args:
        loss_weight (float): Factor of the loss. Defaults to 1.0.
        label_smoothing (float): Share of the target that is spread evenly
            over an image's channels. Defaults to 0.
    """

    def __init__(self,
                 loss_weight: float = 1.0,
                 label_smoothing: float = 0.) -> None:
        super().__init__()
        if not 0 <= label_smoothing <= 1:
            raise ValueError('label_smoothing must be between 0 and 1, got '
                             f'{label_smoothing}')
        self.loss_weight = loss_weight
        self.label_smoothing = label_smoothing

    def forward(self,
                logits: Tensor,
                labels: Tensor,
                mask: Tensor | None = None) -> Tensor:
        """See :func:`task_cross_entropy`."""
        return self.loss_weight * task_cross_entropy(
            logits, labels, mask, self.label_smoothing)
