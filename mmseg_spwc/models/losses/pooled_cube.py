"""RCIL's distillation of pooled cubes, along space and along channels."""
from collections.abc import Sequence

from torch import Tensor, nn

from mmseg_spwc.registry import MODELS

from .common import full_precision
from .feature_maps import (
    growth_factor,
    pair_maps,
    squared_difference,
    weighted_mean,
)
from .pooled_norms import box_norm, channel_norm

WINDOWS = (4, 8, 12, 16, 20, 24)


@full_precision
def pooled_cube(features: Sequence[Tensor],
                old_features: Sequence[Tensor],
                num_new: int,
                factors: Sequence[float],
                channel_factors: Sequence[float],
                windows: Sequence[int] = WINDOWS) -> tuple[Tensor, Tensor]:
    r"""Distances of spatially and of channel-wise pooled squared maps.

    Both are :math:`\frac{1}{L} \sum_l \lambda_l \sqrt{C_{cur} / C_{new}} \;
    \| pool(f_l^2) - pool(f^{old}_l{}^2) \|_2`, the norm taken per image and
    averaged over the batch. Over space, windows k x k slide with stride 1
    and zero padding k / 2, and their distances are averaged; over channels,
    3 neighbours are averaged and the logits are left out.

    Args:
        features (Sequence[Tensor]): L maps, the last one the low-resolution
            logits; see :func:`pair_maps`.
        old_features (Sequence[Tensor]): The old model's L maps.
        num_new (int): C_new; 0 makes the square root 1.
        factors (Sequence[float]): Spatial weights of all maps but the last
            and of the last.
        channel_factors (Sequence[float]): Channel weights, likewise.
        windows (Sequence[int]): Spatial windows k.

    Returns:
        tuple[Tensor, Tensor]: Spatial and channel distance, scalars.
    """
    if len(features) < 2:
        raise ValueError('expected at least one feature map and the logits')
    growth = growth_factor(features[-1].shape[1], num_new)
    pairs = pair_maps(features, old_features)
    # squared twice, so that either loss can be backpropagated alone
    spatial = [
        box_norm(squared_difference(*pair), windows).mean() for pair in pairs
    ]
    channel = [
        channel_norm(squared_difference(*pair)).mean() for pair in pairs[:-1]
    ]
    return (growth * weighted_mean(spatial, *factors),
            growth * weighted_mean(channel, *channel_factors))


@MODELS.register_module()
class PooledCubeLoss(nn.Module):
    """Pooled cube distillation of `RCIL
    <https://arxiv.org/abs/2203.05402>`_.

    Args:
        factor (float): Spatial weight of all maps but the last. Defaults to
            0.01.
        last_factor (float): Spatial weight of the logits. Defaults to
            0.0005.
        channel_factor (float, optional): Channel weight of all maps but the
            last two. Defaults to None, for ``factor``.
        channel_last_factor (float, optional): Channel weight of the map
            before the logits. Defaults to None, for ``last_factor``.
        windows (Sequence[int]): Spatial windows. Defaults to
            (4, 8, 12, 16, 20, 24).
        loss_weight (float): Factor of both losses. Defaults to 1.0.
    """

    def __init__(self,
                 factor: float = 0.01,
                 last_factor: float = 0.0005,
                 channel_factor: float | None = None,
                 channel_last_factor: float | None = None,
                 windows: Sequence[int] = WINDOWS,
                 loss_weight: float = 1.0) -> None:
        super().__init__()
        if channel_factor is None:
            channel_factor = factor
        if channel_last_factor is None:
            channel_last_factor = last_factor
        self.factors = (factor, last_factor)
        self.channel_factors = (channel_factor, channel_last_factor)
        self.windows = tuple(windows)
        self.loss_weight = loss_weight

    def forward(self, features: Sequence[Tensor],
                old_features: Sequence[Tensor],
                num_new: int) -> dict[str, Tensor]:
        """Return ``loss_skd`` over space and ``loss_ckd`` over channels."""
        spatial, channel = pooled_cube(features, old_features, num_new,
                                       self.factors, self.channel_factors,
                                       self.windows)
        return dict(
            loss_skd=self.loss_weight * spatial,
            loss_ckd=self.loss_weight * channel)
