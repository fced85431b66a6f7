"""ALIFE's adaptive logit regulariser on background pixels."""
from torch import Tensor, nn

from mmseg_spwc.registry import MODELS

from .common import check_labels, check_old_logits, full_precision, mean_where


@full_precision
def adaptive_logit(logits: Tensor, old_logits: Tensor,
                   labels: Tensor) -> Tensor:
    r"""Cross entropy of the old model's prediction on background pixels.

    With :math:`q` the old model's softmax, padded with zeros for the new
    classes, it is the mean over pixels labelled 0 of
    :math:`\log \sum_c e^{z_c} - \sum_{c < C_{old}} q_c z_c`.

    Args:
        logits (Tensor): (B, C_cur, H, W).
        old_logits (Tensor): (B, C_old, H, W), taken as constants.
        labels (Tensor): (B, H, W).

    Returns:
        Tensor: A scalar; zero, with a gradient, without background.
    """
    check_labels(logits, labels)
    check_old_logits(logits, old_logits)
    target = old_logits.detach().softmax(dim=1)
    expected = (target * logits[:, :old_logits.shape[1]]).sum(dim=1)
    return mean_where(logits.logsumexp(dim=1) - expected, labels == 0)


@MODELS.register_module()
class AdaptiveLogitLoss(nn.Module):
    """Adaptive logit regulariser (ALI) of
    `ALIFE <https://arxiv.org/abs/2210.06816>`_.

    Args:
        loss_weight (float): Factor of the loss. Defaults to 1.0.
    """

    def __init__(self, loss_weight: float = 1.0) -> None:
        super().__init__()
        self.loss_weight = loss_weight

    def forward(self, logits: Tensor, old_logits: Tensor,
                labels: Tensor) -> Tensor:
        """See :func:`adaptive_logit`."""
        return self.loss_weight * adaptive_logit(logits, old_logits, labels)
