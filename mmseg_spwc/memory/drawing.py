"""How likely a remembered sample is drawn, by the priorities of its units."""
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np


def drawing_probabilities(units: Sequence[Collection[int]],
                          v: Mapping[int, float]) -> np.ndarray:
    r"""Probability of every sample, if units are drawn by their weights.

    A unit (a class or a step) is drawn with probability :math:`\pi_c = v_c /
    \sum v`, then one of its :math:`n_c` samples: :math:`P_i = \sum_{c \in i}
    \pi_c / n_c`. Units that no sample shows are left out; if nothing has a
    weight, all samples are alike.

    Args:
        units: What every sample shows.
        v: Weight of every unit.

    Returns:
        np.ndarray: (samples,), with the sum 1.
    """
    counts = Counter(c for shown in units for c in shown)
    total = sum(v[c] for c in counts)
    if total <= 0:
        return np.full(len(units), 1 / max(len(units), 1))
    share = {c: v[c] / total / n for c, n in counts.items()}
    return np.array([sum(share[c] for c in shown) for shown in units])
