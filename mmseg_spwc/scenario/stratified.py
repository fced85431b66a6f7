"""A held-out share of every class, drawn by labels alone."""
import hashlib

import numpy as np


def stratified_split(labels: np.ndarray, ratio: float,
                     seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Split images into a training and a held-out part, class by class.

    Of all images ``ratio`` are held out, and of each class ``ratio`` up to
    one image. A class of two or more images has at least one on each side
    (unless ``ratio`` is 0); a single image trains. The order in which a
    class gives up its images depends on the seed, the class and its size,
    and on no other random number.

    Args:
        labels: Class ids from 0, shape (N, ).
        ratio: Share to hold out, from 0 to below 1.
        seed: Another seed draws other images.

    Returns:
        tuple[np.ndarray, np.ndarray]: Sorted int64 indices of both parts.
    """
    if not 0 <= ratio < 1:
        raise ValueError(f'The ratio is {ratio}: give a share from 0 to '
                         'below 1.')
    labels = np.asarray(labels)
    held = np.zeros(len(labels), dtype=bool)
    classes, sizes = np.unique(labels, return_counts=True)
    counts = _counts(sizes, ratio)
    for c, count in zip(classes.tolist(), counts.tolist(), strict=True):
        members = np.flatnonzero(labels == c)
        lots = np.random.default_rng((seed, c)).permutation(len(members))
        held[members[lots[:count]]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def split_digest(indices: np.ndarray) -> str:
    """SHA-256 (hex) of a list of indices, the same on every machine."""
    return hashlib.sha256(
        np.asarray(indices).astype('<i8').tobytes()).hexdigest()


def _counts(sizes: np.ndarray, ratio: float) -> np.ndarray:
    """Images to hold out of each class, by largest remainder."""
    shares = sizes * ratio
    counts = np.floor(shares + 1e-9).astype(np.int64)  # 0.29 * 100 is 28.99..
    missing = round(float(shares.sum())) - int(counts.sum())
    if missing > 0:
        largest = np.argsort(counts - shares, kind='stable')
        counts[largest[:missing]] += 1
    if ratio:
        counts = np.minimum(np.maximum(counts, 1), sizes - 1)
    return counts
