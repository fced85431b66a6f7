"""PLOP's distillation of pooled strips at several scales."""
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from mmseg_spwc.registry import MODELS

from .common import full_precision
from .feature_maps import (
    growth_factor,
    image_norm,
    pair_maps,
    squared_difference,
    weighted_mean,
)

SCALES = (1, 2, 4)


def pool_strips(x: Tensor, scales: Sequence[int] = SCALES) -> Tensor:
    """Mean rows and mean columns of the cells of s x s grids.

    A cell is H // s high and W // s wide (the published k = W // s for
    square maps); a rest at the right or at the bottom is left out, and so is
    a scale with more cells than pixels.

    Args:
        x (Tensor): (B, C, H, W).
        scales (Sequence[int]): Cells along each side. Defaults to (1, 2, 4).

    Returns:
        Tensor: (B, C, N), all strips of a channel in one vector.
    """
    height, width = x.shape[-2:]
    strips = []
    for scale in scales:
        high, wide = height // scale, width // scale
        if high == 0 or wide == 0:
            continue
        cells = x[..., :scale * high, :scale * wide].unflatten(
            -1, (scale, wide)).unflatten(-3, (scale, high))
        # (B, C, s, h, s, w) without its last or its fourth axis
        strips += [cells.mean(dim=axis).flatten(2) for axis in (5, 3)]
    return torch.cat(strips, dim=2)


@full_precision
def local_pod(features: Sequence[Tensor],
              old_features: Sequence[Tensor],
              num_new: int,
              factor: float = 0.01,
              last_factor: float = 0.0005,
              scales: Sequence[int] = SCALES) -> Tensor:
    r"""Distance of the pooled strips of squared maps.

    :math:`\frac{1}{L} \sum_l \lambda_l \sqrt{C_{cur} / C_{new}} \;
    \| POD(f_l^2) - POD(f^{old}_l{}^2) \|_2`, the norm taken per image and
    averaged over the batch. Pooling is linear, so the difference is pooled.

    Args:
        features (Sequence[Tensor]): L maps, the last one the low-resolution
            logits (B, C_cur, H, W), whose new channels are summed onto the
            background.
        old_features (Sequence[Tensor]): The old model's L maps.
        num_new (int): C_new; 0 makes the square root 1.
        factor (float): Weight of all maps but the last. Defaults to 0.01.
        last_factor (float): Weight of the logits. Defaults to 0.0005.
        scales (Sequence[int]): Cells along each side. Defaults to (1, 2, 4).

    Returns:
        Tensor: A scalar.
    """
    growth = growth_factor(features[-1].shape[1], num_new)
    distances = []
    for new, old in pair_maps(features, old_features):
        strips = pool_strips(squared_difference(new, old), scales)
        distances.append(image_norm(strips).mean())
    return growth * weighted_mean(distances, factor, last_factor)


@MODELS.register_module()
class LocalPODLoss(nn.Module):
    """Local POD of `PLOP <https://arxiv.org/abs/2011.11390>`_.

    Args:
        factor (float): Weight of all maps but the last. Defaults to 0.01.
        last_factor (float): Weight of the logits. Defaults to 0.0005.
        scales (Sequence[int]): Cells along each side. Defaults to (1, 2, 4).
        loss_weight (float): Factor of the loss. Defaults to 1.0.
    """

    def __init__(self,
                 factor: float = 0.01,
                 last_factor: float = 0.0005,
                 scales: Sequence[int] = SCALES,
                 loss_weight: float = 1.0) -> None:
        super().__init__()
        if 1 not in scales:
            raise ValueError(f'scales must hold 1, got {tuple(scales)}: it '
                             'is the only scale that fits every map')
        self.factor = factor
        self.last_factor = last_factor
        self.scales = tuple(scales)
        self.loss_weight = loss_weight

    def forward(self, features: Sequence[Tensor],
                old_features: Sequence[Tensor], num_new: int) -> Tensor:
        """See :func:`local_pod`."""
        return self.loss_weight * local_pod(
            features, old_features, num_new, self.factor, self.last_factor,
            self.scales)
