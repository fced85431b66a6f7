"""Which image belongs to which classification task."""
import hashlib
from collections.abc import Iterable, Mapping

import numpy as np

from .checks import check_ratio
from .classification_scenario import ClassificationScenario as Scenario


def check_task_data(labels: np.ndarray, parts: np.ndarray,
                    scenario: Scenario) -> None:
    """Refuse labels out of range, and a wrong number of domains.

    ``parts`` tells which of several datasets every image comes from, (N, ).
    """
    wrong = np.unique(labels[(labels < 0) | (labels >= scenario.num_classes)])
    if len(wrong):
        raise ValueError(
            f'The data hold the label {", ".join(map(str, wrong[:5]))}, but '
            f'labels of {scenario.dataset} go from 0 to '
            f'{scenario.num_classes - 1}: correct the labels or num_classes.')
    count = int(parts.max(initial=-1)) + 1
    needed = scenario.num_sources
    if needed is not None and count != needed:
        what = (f'turns={needed}' if scenario.permute else
                f'{needed} domains')
        raise ValueError(
            f'{count} dataset(s) for {what}: give a '
            f"dict(type='ConcatDataset', datasets=[...]) of {needed}, in the "
            'order of the steps.')


def choose_images(labels: np.ndarray, parts: np.ndarray, role: str,
                  heldout: Mapping) -> tuple[np.ndarray, dict]:
    """Choose the images that play a role at any step.

    Returns their indices, and the facts of the split: numbers of images and,
    where some are held out, ``seed``, ``ratio`` and the ``sha256`` of the
    held-out indices.
    """
    if role == 'test':
        return np.arange(len(labels)), dict(test=len(labels))
    if not heldout.get('ratio'):
        if role == 'heldout':
            raise ValueError('Nothing is held out: set heldout=dict(ratio=...)'
                             ' to a share above 0.')
        return np.arange(len(labels)), dict(train=len(labels), heldout=0)
    held = np.zeros(len(labels), dtype=bool)
    for part in np.unique(parts):
        members = np.flatnonzero(parts == part)
        held[members[stratified_split(labels[members], **heldout)[1]]] = True
    train, held = np.flatnonzero(~held), np.flatnonzero(held)
    facts = dict(heldout, train=len(train), heldout=len(held),
                 sha256=split_digest(held))
    return (train if role == 'train' else held), facts


def stratified_split(labels: np.ndarray, ratio: float,
                     seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Split images into a training and a held-out part, class by class.

    Of all images ``ratio`` are held out, and of each class ``ratio`` up to one
    image. A class of two or more images has at least one on each side (unless
    ``ratio`` is 0); a single image trains. The order in which a class gives up
    its images depends on the seed, the class and its size, and on no other
    random number. Returns sorted indices of both parts.
    """
    check_ratio(ratio)
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


def select_samples(labels: np.ndarray, parts: np.ndarray, images: np.ndarray,
                   scenario: Scenario,
                   tasks: Iterable[int]) -> tuple[np.ndarray, np.ndarray]:
    """Samples of some tasks, in their order: images (n, ) and tasks (n, ).

    A permuted image is a sample of every task, or of every task whose turn it
    is. Otherwise an image belongs to the task of its class or, by domain, of
    its dataset, which ``parts`` tells. ``images`` are those to choose from.
    """
    chosen = {t: images[_belongs(labels, parts, images, scenario, t)]
              for t in tasks}
    for task, members in chosen.items():
        if not len(members):
            raise ValueError(
                f'No image for step {task} '
                f'({", ".join(scenario.called(task))}) of scenario '
                f'{scenario.dataset} {scenario.name}: check the data, hold '
                'out another share or change the steps.')
    none = np.zeros(0, np.int64)
    task_ids = [np.full(len(m), t, np.int64) for t, m in chosen.items()]
    return (np.concatenate([none, *chosen.values()]),
            np.concatenate([none, *task_ids]))


def _belongs(labels: np.ndarray, parts: np.ndarray, images: np.ndarray,
             scenario: Scenario, task: int) -> np.ndarray:
    if scenario.kind != 'domain':
        return np.isin(labels[images], scenario.steps[task])
    sources = scenario.num_sources
    if sources is None:
        return np.ones(len(images), dtype=bool)
    return parts[images] == task % sources


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
