"""The course of the losses, thinned out for the record."""
import math

import numpy as np
from mmengine.logging import MessageHub

PREFIX = 'train/'


def loss_curves(hub: MessageHub, iterations: int, points: int = 100) -> dict:
    """Return the loss terms of a step as means over equal stretches.

    Args:
        hub (MessageHub): With everything that was logged during the step. A
            term that is not logged at every iteration is taken to be logged
            at equal distances.
        iterations (int): Iterations of the step.
        points (int): Number of stretches at most. Defaults to 100.

    Returns:
        dict: ``iterations``, the last one of every stretch, and ``losses``,
        the means by term; None where a term has no value.
    """
    terms = {
        name.removeprefix(PREFIX): buffer.data[0]
        for name, buffer in hub.log_scalars.items()
        if name.startswith(PREFIX) and ('loss' in name or 'penalty' in name)
    }
    points = min(points, iterations)
    ends = [(k + 1) * iterations // points for k in range(points)]
    return dict(
        iterations=ends,
        losses={n: _thinned(v, points) for n, v in sorted(terms.items())})


def _thinned(values: np.ndarray, points: int) -> list:
    places = np.arange(len(values)) * points // max(len(values), 1)
    sums = np.bincount(places, values, minlength=points)
    counts = np.bincount(places, minlength=points)
    return [
        float(s / c) if c and math.isfinite(s) else None
        for s, c in zip(sums, counts, strict=True)
    ]
