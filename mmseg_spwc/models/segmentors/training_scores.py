"""Scores of a batch in training, at the size of the small logits.

An arg-max at label size would cost as much as a stage of a small network,
every iteration, for numbers that are only logged.
"""
from torch import Tensor
from torch.nn import functional

from mmseg_spwc.labels import VOID


def pixel_accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    """Percent of hits among the pixels that count."""
    labels = shrink(labels, logits)
    counted = labels != VOID
    hits = (logits.argmax(1) == labels) & counted
    return 100 * hits.sum() / counted.sum().clamp(min=1)


def background_kept(logits: Tensor, old_logits: Tensor,
                    labels: Tensor) -> Tensor:
    """Percent of the previous model's background that still is background.

    Pixels of a new class do not count: they shall change.

    Args:
        logits (Tensor): Small logits, (B, C, h, w).
        old_logits (Tensor): The previous model's, (B, C_old, h, w).
        labels (Tensor): (B, H, W).
    """
    was = (old_logits.argmax(1) == 0) & (shrink(labels, logits) == 0)
    kept = was & (logits.argmax(1) == 0)
    return 100 * kept.sum() / was.sum().clamp(min=1)


def shrink(labels: Tensor, logits: Tensor) -> Tensor:
    """Labels (B, H, W) at the size of small logits, the nearest of each."""
    return functional.interpolate(
        labels[:, None].float(), logits.shape[2:])[:, 0]
