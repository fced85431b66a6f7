"""ALIFE's distillation, on all pixels but the background."""
from torch import Tensor, nn

from mmseg_spwc.registry import MODELS

from .common import check_labels, full_precision, mean_where
from .distillation import distillation_map


@full_precision
def alife_distillation(logits: Tensor, old_logits: Tensor,
                       labels: Tensor) -> Tensor:
    """Mean of LwF's distillation over the pixels not labelled 0.

    Ignored pixels count as well: the old model's opinion needs no label.

    Args:
        logits (Tensor): (B, C_cur, H, W).
        old_logits (Tensor): (B, C_old, H, W), taken as constants.
        labels (Tensor): (B, H, W).

    Returns:
        Tensor: A scalar; zero, with a gradient, if all is background.
    """
    check_labels(logits, labels)
    return mean_where(distillation_map(logits, old_logits), labels != 0)


@MODELS.register_module()
class AlifeDistillationLoss(nn.Module):
    """Distillation of `ALIFE <https://arxiv.org/abs/2210.06816>`_ on the
    pixels that its adaptive logit regulariser leaves out.

    Args:
        loss_weight (float): Factor of the loss. Defaults to 1.0.
    """

    def __init__(self, loss_weight: float = 1.0) -> None:
        super().__init__()
        self.loss_weight = loss_weight

    def forward(self, logits: Tensor, old_logits: Tensor,
                labels: Tensor) -> Tensor:
        """See :func:`alife_distillation`."""
        return self.loss_weight * alife_distillation(logits, old_logits,
                                                     labels)
