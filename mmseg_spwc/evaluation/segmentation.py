"""Means over groups of classes, as the segmentation tables report them."""
from collections.abc import Sequence


def intersection_over_union(hits: Sequence[int], present: Sequence[int],
                            predicted: Sequence[int]) -> list:
    """IoU_c = TP / (GT + predicted - TP); None where the truth has no c."""
    return [
        h / (g + p - h) if g else None
        for h, g, p in zip(hits, present, predicted, strict=True)
    ]


def mean_of_known(values: Sequence[float | None]) -> float | None:
    """Mean over the values that are there; None if there is none."""
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else None


def group_means(iou: Sequence[float | None],
                num_base: int,
                background: bool = True) -> dict:
    """Mean IoU of the base classes, of the later ones and of all.

    The literature counts the base group with background (PLOP, RCIL, spWC)
    or without (MiB): both are given.

    Args:
        iou (Sequence[float | None]): IoU by channel.
        num_base (int): Channels of step 0, background included.
        background (bool): Whether channel 0 is the background. Defaults to
            True.

    Returns:
        dict: ``base``, ``base_no_bg``, ``new``, ``all``, ``all_no_bg``.
    """
    first = int(background)
    return dict(
        base=mean_of_known(iou[:num_base]),
        base_no_bg=mean_of_known(iou[first:num_base]),
        new=mean_of_known(iou[num_base:]),
        all=mean_of_known(iou),
        all_no_bg=mean_of_known(iou[first:]))


def step_means(iou: Sequence[float | None],
               step_of_channel: Sequence[int]) -> list:
    """Mean IoU of the classes that each step brought, by step."""
    steps = max(step_of_channel) + 1
    return [
        mean_of_known([
            v for v, s in zip(iou, step_of_channel, strict=True) if s == step
        ]) for step in range(steps)
    ]
