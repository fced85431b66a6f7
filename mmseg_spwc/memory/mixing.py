"""In which order an epoch sees the samples of its step and the memory, and
how likely a remembered sample is drawn.

Samples of the step have the indices 0 to ``new - 1``, those of the memory
follow. Without a share every one of both is seen once. With a share every
batch of the ``batch`` samples of all processes has that share from the
memory, and an epoch is one pass over the samples of the step.
"""
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np


def replayed_in(batch: int, share: float) -> int:
    """Samples of a batch that are replayed."""
    count = round(batch * share)
    if not 0 < count < batch:
        raise ValueError(
            f'A share of {share:g} of {batch} samples leaves none to replay '
            'or none that is new: use larger batches or another replay.mix.')
    return count


def epoch_size(new: int, kept: int, batch: int, share: float | None) -> int:
    """Number of samples that an epoch sees."""
    if not kept or share is None:
        return new + kept
    count = replayed_in(batch, share)
    full, rest = divmod(new, batch - count)
    return full * batch + rest + round(rest * count / (batch - count))


def epoch_order(new: int, kept: int, batch: int, share: float | None,
                seed: tuple[int, ...],
                probabilities: np.ndarray | None = None) -> np.ndarray:
    """Return the indices of an epoch, batch by batch.

    Without probabilities the memory is seen evenly, else it is drawn with
    replacement.
    """
    rng = np.random.default_rng(seed)
    fresh = rng.permutation(new)
    total = epoch_size(new, kept, batch, share)
    replayed = new + _replayed(kept, total - new, rng, probabilities)
    if not kept or share is None:
        return rng.permutation(np.concatenate([fresh, replayed]))
    count = replayed_in(batch, share)
    full, rest = divmod(new, batch - count)
    blocks = np.concatenate([
        fresh[:new - rest].reshape(full, batch - count),
        replayed[:full * count].reshape(full, count)
    ], axis=1)
    return np.concatenate(
        [blocks.ravel(), fresh[new - rest:], replayed[full * count:]])


def _replayed(kept: int, count: int, rng: np.random.Generator,
              probabilities: np.ndarray | None) -> np.ndarray:
    """Places in the memory, each about as often or by probability."""
    if probabilities is not None and kept:
        return rng.choice(kept, count, p=probabilities)
    rounds = [rng.permutation(kept) for _ in range(-(-count // max(kept, 1)))]
    return np.concatenate([np.zeros(0, np.int64), *rounds])[:count]


def drawing_probabilities(units: Sequence[Collection[int]],
                          v: Mapping[int, float]) -> np.ndarray:
    r"""Probability of every sample (samples,), if units are drawn by weights.

    A unit (a class or a step) is drawn with probability :math:`\pi_c = v_c /
    \sum v`, then one of its :math:`n_c` samples: :math:`P_i = \sum_{c \in i}
    \pi_c / n_c`. Units that no sample shows are left out; if nothing has a
    weight, all samples are alike.
    """
    counts = Counter(c for shown in units for c in shown)
    total = sum(v[c] for c in counts)
    if total <= 0:
        return np.full(len(units), 1 / max(len(units), 1))
    share = {c: v[c] / total / n for c, n in counts.items()}
    return np.array([sum(share[c] for c in shown) for shown in units])
