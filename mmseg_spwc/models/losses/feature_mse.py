"""ILT's distillation of one feature map."""
from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from mmseg_spwc.registry import MODELS

from .common import full_precision


@full_precision
def feature_mse(feature: Tensor, old_feature: Tensor) -> Tensor:
    """Mean squared error over all elements.

    Args:
        feature (Tensor): (B, C, H, W).
        old_feature (Tensor): (B, C, H, W), taken as a constant.

    Returns:
        Tensor: A scalar.
    """
    if feature.shape != old_feature.shape:
        raise ValueError(
            'expected maps of equal shape, got '
            f'{tuple(feature.shape)} and {tuple(old_feature.shape)}')
    return F.mse_loss(feature, old_feature.detach())


@MODELS.register_module()
class FeatureMSELoss(nn.Module):
    """Feature distillation of `ILT <https://arxiv.org/abs/1907.13372>`_; the
    usual weight is 100.

    Args:
        index (int): Which map of a list is compared. Lists end with the
            decoder's output and the logits, so that -3 is the last stage of
            the backbone. Defaults to -3.
        loss_weight (float): Factor of the loss. Defaults to 1.0.
    """

    def __init__(self, index: int = -3, loss_weight: float = 1.0) -> None:
        super().__init__()
        self.index = index
        self.loss_weight = loss_weight

    def forward(self, features: Tensor | Sequence[Tensor],
                old_features: Tensor | Sequence[Tensor]) -> Tensor:
        """Compare one map, or the chosen one of two lists."""
        if not isinstance(features, Tensor):
            features = features[self.index]
            old_features = old_features[self.index]
        return self.loss_weight * feature_mse(features, old_features)
