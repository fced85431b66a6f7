"""What the losses on lists of feature maps share."""
import math
from collections.abc import Sequence

import torch
from torch import Tensor

MapPairs = list[tuple[Tensor, Tensor]]


def pair_maps(features: Sequence[Tensor],
              old_features: Sequence[Tensor]) -> MapPairs:
    """Pair the maps of the new and the old model, in equal shapes.

    The last map holds the low-resolution logits. New classes were background
    to the old model, so their logits are summed onto channel 0.

    Args:
        features (Sequence[Tensor]): L maps (B, C_l, H_l, W_l), the last one
            the logits (B, C_cur, H, W).
        old_features (Sequence[Tensor]): The old model's maps, taken as
            constants, the last one (B, C_old, H, W).

    Returns:
        list[tuple[Tensor, Tensor]]: L pairs (new, old) of equal shape.
    """
    if len(features) != len(old_features):
        raise ValueError(
            'expected as many feature maps of the new model as of the old '
            f'one, got {len(features)} and {len(old_features)}')
    folded = fold_new_logits(features[-1], old_features[-1].shape[1])
    pairs = []
    for i, (new, old) in enumerate(
            zip([*features[:-1], folded], old_features, strict=True)):
        if new.dim() != 4 or new.shape != old.shape:
            raise ValueError(
                f'feature map {i} is {tuple(new.shape)} in the new model and '
                f'{tuple(old.shape)} in the old one; only the last map, the '
                'logits, may have further channels')
        pairs.append((new, old.detach()))
    return pairs


def fold_new_logits(logits: Tensor, num_old: int) -> Tensor:
    """Sum the logits from channel ``num_old`` on onto channel 0.

    Args:
        logits (Tensor): (B, C_cur, H, W).
        num_old (int): C_old.

    Returns:
        Tensor: (B, C_old, H, W).
    """
    if logits.shape[1] <= num_old:
        return logits
    background = logits[:, :1] + logits[:, num_old:].sum(dim=1, keepdim=True)
    return torch.cat([background, logits[:, 1:num_old]], dim=1)


def squared_difference(new: Tensor, old: Tensor) -> Tensor:
    """Return ``new^2 - old^2``, accurate for nearly equal maps.

    Args:
        new (Tensor): A map.
        old (Tensor): A map of the same shape, taken as a constant.

    Returns:
        Tensor: A map of the same shape.
    """
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


def image_norm(x: Tensor) -> Tensor:
    """L2 norm of every image, with a gradient of zero where it is zero.

    Taken channel by channel first: one float32 sum over a whole map is only
    good to about 1e-5.

    Args:
        x (Tensor): (B, C, ...).

    Returns:
        Tensor: (B,).
    """
    norms = torch.linalg.vector_norm(x.flatten(2), dim=2)  # (B, C)
    return torch.linalg.vector_norm(norms, dim=1)


def growth_factor(num_classes: int, num_new: int) -> float:
    """Return sqrt(C_cur / C_new), or 1 where a step adds no class.

    Args:
        num_classes (int): C_cur, all classes seen so far with background.
        num_new (int): C_new, those among them that are new.
    """
    if not 0 <= num_new <= num_classes:
        raise ValueError(f'num_new must lie between 0 and the {num_classes} '
                         f'classes, got {num_new}')
    return math.sqrt(num_classes / num_new) if num_new else 1.0


def weighted_mean(distances: Sequence[Tensor], factor: float,
                  last_factor: float) -> Tensor:
    """Mean over maps of distances times ``factor``; the last has its own.

    Args:
        distances (Sequence[Tensor]): L scalars.
        factor (float): Weight of all but the last.
        last_factor (float): Weight of the last.

    Returns:
        Tensor: A scalar.
    """
    weights = [factor] * (len(distances) - 1) + [last_factor]
    total = sum(w * d for w, d in zip(weights, distances, strict=True))
    return total / len(distances)
