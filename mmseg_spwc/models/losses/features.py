"""Losses that compare feature maps with those of the previous model.

``features`` are the :class:`~mmseg_spwc.models.quantities.Maps` of a pass, or
any list of maps (B, C_l, H_l, W_l) that ends in the small logits
(B, C_cur, H, W); ``old_features`` those of the previous model.
"""
import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from mmseg_spwc.registry import MODELS

from ..quantities import Maps
from ..recompute import called_frugally
from .base import Loss, full_precision, widen
from .pooled_norms import box_norm, channel_norm, image_norm

SCALES = (1, 2, 4)
WINDOWS = (4, 8, 12, 16, 20, 24)


@MODELS.register_module()
class FeatureMSELoss(Loss):
    """Feature distillation of `ILT <https://arxiv.org/abs/1907.13372>`_, the
    mean squared error of one map; the usual weight is 100.

    Args:
        index (int): Which stage of the backbone is compared. Defaults to -1,
            the last one.
    """

    def __init__(self, index: int = -1, **kwargs) -> None:
        super().__init__(**kwargs)
        self.index = index

    @full_precision
    def forward(self, features: Maps, old_features: Maps) -> Tensor:
        new, old = (x.stages[self.index] for x in (features, old_features))
        if new.shape != old.shape:
            raise ValueError('expected maps of equal shape, got '
                             f'{tuple(new.shape)} and {tuple(old.shape)}')
        return self.loss_weight * F.mse_loss(new, old.detach())


@MODELS.register_module()
class LocalPODLoss(Loss):
    r"""Local POD of `PLOP <https://arxiv.org/abs/2011.11390>`_: the distance
    of pooled strips of squared maps.

    :math:`\frac{1}{L} \sum_l \lambda_l \sqrt{C_{cur} / C_{new}} \;
    \| POD(f_l^2) - POD(f^{old}_l{}^2) \|_2`, the norm taken per image and
    averaged over the batch. Pooling is linear, so the difference is pooled.

    Args:
        factor (float): Weight of all maps but the logits. Defaults to 0.01.
        last_factor (float): Weight of the logits. Defaults to 0.0005.
        scales (Sequence[int]): Cells along each side. Defaults to (1, 2, 4).
    """

    def __init__(self, factor: float = 0.01, last_factor: float = 0.0005,
                 scales: Sequence[int] = SCALES, **kwargs) -> None:
        super().__init__(**kwargs)
        if 1 not in scales:
            raise ValueError(f'scales must hold 1, got {tuple(scales)}: it '
                             'is the only scale that fits every map')
        self.factor = factor
        self.last_factor = last_factor
        self.scales = tuple(scales)

    @full_precision
    def forward(self, features: Sequence[Tensor],
                old_features: Sequence[Tensor], num_new: int) -> Tensor:
        """Where a step adds no class, ``num_new=0``, the root is 1."""
        distances = [image_norm(pool_strips(squared_difference(*pair),
                                            self.scales)).mean()
                     for pair in pair_maps(features, old_features)]
        return self.loss_weight * (
            growth_factor(features, num_new) *
            weighted_mean(distances, self.factor, self.last_factor))


@MODELS.register_module()
class PooledCubeLoss(Loss):
    r"""Pooled cube distillation of `RCIL
    <https://arxiv.org/abs/2203.05402>`_: distances of spatially and of
    channel-wise pooled squared maps.

    Both are :math:`\frac{1}{L} \sum_l \lambda_l \sqrt{C_{cur} / C_{new}} \;
    \| pool(f_l^2) - pool(f^{old}_l{}^2) \|_2`, the norm taken per image and
    averaged over the batch. Over space, windows k x k slide with stride 1
    and zero padding k / 2, and their distances are averaged; over channels,
    3 neighbours are averaged and the logits are left out.

    Args:
        factor (float): Spatial weight of all maps but the logits. Defaults
            to 0.01.
        last_factor (float): Spatial weight of the logits. Defaults to
            0.0005.
        channel_factor (float, optional): Channel weight of all maps but the
            last two. Defaults to None, for ``factor``.
        channel_last_factor (float, optional): Channel weight of the map
            before the logits. Defaults to None, for ``last_factor``.
        windows (Sequence[int]): Spatial windows. Defaults to
            (4, 8, 12, 16, 20, 24).
    """

    def __init__(self, factor: float = 0.01, last_factor: float = 0.0005,
                 channel_factor: float | None = None,
                 channel_last_factor: float | None = None,
                 windows: Sequence[int] = WINDOWS, **kwargs) -> None:
        super().__init__(**kwargs)
        self.factors = (factor, last_factor)
        self.channel_factors = (
            factor if channel_factor is None else channel_factor,
            last_factor if channel_last_factor is None else
            channel_last_factor)
        self.windows = tuple(windows)

    def forward(self, features: Sequence[Tensor],
                old_features: Sequence[Tensor],
                num_new: int) -> dict[str, Tensor]:
        """Return ``loss_skd`` over space and ``loss_ckd`` over channels."""
        if len(features) < 2:
            raise ValueError(
                'expected at least one feature map and the logits')
        # map by map, so that one of them is widened and compared at a time;
        # the logits before they are summed
        *maps, logits = [
            called_frugally(self._distances, new=new, old=old)
            for new, old in pair_maps(*(
                [*x[:-1], widen(x[-1])] for x in (features, old_features)))
        ]
        spatial = [box for box, _ in (*maps, logits)]
        channel = [neighbours for _, neighbours in maps]
        growth = growth_factor(features, num_new)
        return dict(
            loss_skd=self.loss_weight *
            (growth * weighted_mean(spatial, *self.factors)),
            loss_ckd=self.loss_weight *
            (growth * weighted_mean(channel, *self.channel_factors)))

    @full_precision
    def _distances(self, new: Tensor, old: Tensor) -> tuple[Tensor, Tensor]:
        """Of a pair of maps, over space and over channels."""
        # squared twice, so that either loss can be backpropagated alone
        return (box_norm(squared_difference(new, old), self.windows).mean(),
                channel_norm(squared_difference(new, old)).mean())


def pair_maps(features: Sequence[Tensor],
              old_features: Sequence[Tensor]) -> list[tuple[Tensor, Tensor]]:
    """Pair the maps of the new and the old model, in equal shapes.

    New classes were background to the old model, so their logits are summed
    onto channel 0.
    """
    if len(features) != len(old_features):
        raise ValueError(
            'expected as many feature maps of the new model as of the old '
            f'one, got {len(features)} and {len(old_features)}')
    *maps, logits = features
    *_, old_logits = old_features
    maps.append(fold_new_logits(logits, old_logits.shape[1]))
    for i, (new, old) in enumerate(zip(maps, old_features, strict=True)):
        if new.dim() != 4 or new.shape != old.shape:
            raise ValueError(
                f'feature map {i} is {tuple(new.shape)} in the new model and '
                f'{tuple(old.shape)} in the old one; only the last map, the '
                'logits, may have further channels')
    return [(new, old.detach())
            for new, old in zip(maps, old_features, strict=True)]


def fold_new_logits(logits: Tensor, num_old: int) -> Tensor:
    """Sum the logits from channel ``num_old`` on onto channel 0."""
    if logits.shape[1] <= num_old:
        return logits
    background = logits[:, :1] + logits[:, num_old:].sum(dim=1, keepdim=True)
    return torch.cat([background, logits[:, 1:num_old]], dim=1)


def squared_difference(new: Tensor, old: Tensor) -> Tensor:
    """Return ``new^2 - old^2``, accurate for nearly equal maps."""
    return _SquaredDifference.apply(new, old)


class _SquaredDifference(torch.autograd.Function):
    """Keeps only ``new``, which is alive anyway, for the backward pass."""

    @staticmethod
    def forward(ctx, new: Tensor, old: Tensor) -> Tensor:
        ctx.save_for_backward(new)
        return (new - old).mul_(new + old)

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> tuple:
        new, = ctx.saved_tensors
        return 2 * new * grad_output, None


def pool_strips(x: Tensor, scales: Sequence[int] = SCALES) -> Tensor:
    """Mean rows and mean columns of the cells of s x s grids, (B, C, N).

    A cell is H // s high and W // s wide (the published k = W // s for
    square maps); a rest at the right or at the bottom is left out, and so is
    a scale with more cells than pixels.
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


def growth_factor(features: Sequence[Tensor], num_new: int) -> float:
    """Return sqrt(C_cur / C_new), or 1 where a step adds no class."""
    *_, logits = features
    num_classes = logits.shape[1]
    if not 0 <= num_new <= num_classes:
        raise ValueError(f'num_new must lie between 0 and the {num_classes} '
                         f'classes, got {num_new}')
    return math.sqrt(num_classes / num_new) if num_new else 1.0


def weighted_mean(distances: Sequence[Tensor], factor: float,
                  last_factor: float) -> Tensor:
    """Mean over maps of distances times ``factor``; the last has its own."""
    weights = [factor] * (len(distances) - 1) + [last_factor]
    total = sum(w * d for w, d in zip(weights, distances, strict=True))
    return total / len(distances)
