"""Which image belongs to which classification task."""
from collections.abc import Iterable

import numpy as np

from .stratified import stratified_split
from .tasks import TaskScenario


def check_task_data(labels: np.ndarray, parts: np.ndarray,
                    scenario: TaskScenario) -> None:
    """Refuse labels out of range, and a wrong number of domains.

    Args:
        labels: Class id of every image, (N, ).
        parts: Which of several data sets every image comes from, (N, ).
        scenario: The scenario.
    """
    wrong = np.unique(labels[(labels < 0) | (labels >= scenario.num_classes)])
    if len(wrong):
        raise ValueError(
            f'The data hold the label {", ".join(map(str, wrong[:5]))}, but '
            f'labels of {scenario.dataset} go from 0 to '
            f'{scenario.num_classes - 1}: correct the labels or num_classes.')
    count = int(parts.max(initial=-1)) + 1
    if _by_part(scenario) and count != scenario.num_steps:
        raise ValueError(
            f'{count} data set(s) for {scenario.num_steps} domains: give a '
            "dict(type='ConcatDataset', datasets=[...]) of one for each "
            'step, in the order of the steps.')


def split_heldout(labels: np.ndarray, parts: np.ndarray, ratio: float,
                  seed: int) -> tuple[np.ndarray, np.ndarray]:
    """:func:`stratified_split` of every part, as indices of the whole."""
    train, held = [], []
    for part in np.unique(parts):
        members = np.flatnonzero(parts == part)
        left, right = stratified_split(labels[members], ratio, seed)
        train.append(members[left])
        held.append(members[right])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(held))


def select_samples(labels: np.ndarray, parts: np.ndarray, images: np.ndarray,
                   scenario: TaskScenario,
                   tasks: Iterable[int]) -> tuple[np.ndarray, np.ndarray]:
    """Samples of some tasks: pairs of an image and its task.

    A permuted image is a sample of every task. Otherwise an image belongs to
    the task of its class or, by domain, of its part.

    Args:
        labels: Class id of every image, (N, ).
        parts: Which of several data sets every image comes from, (N, ).
        images: Indices of the images to choose from, (n, ).
        scenario: The scenario.
        tasks: The tasks, which the samples are ordered by.

    Returns:
        tuple[np.ndarray, np.ndarray]: Image and task of every sample, int64.

    Raises:
        ValueError: A task has no image.
    """
    chosen = {t: images[_belongs(labels, parts, images, scenario, t)]
              for t in tasks}
    for task, members in chosen.items():
        if not len(members):
            raise ValueError(
                f'No image for step {task} '
                f'({", ".join(map(str, scenario.steps[task]))}) of scenario '
                f'{scenario.dataset} {scenario.name}: check the data, hold '
                'out another share or change the steps.')
    task_ids = [np.full(len(m), t, np.int64) for t, m in chosen.items()]
    return np.concatenate(list(chosen.values())), np.concatenate(task_ids)


def _belongs(labels: np.ndarray, parts: np.ndarray, images: np.ndarray,
             scenario: TaskScenario, task: int) -> np.ndarray:
    if scenario.permute:
        return np.ones(len(images), dtype=bool)
    if _by_part(scenario):
        return parts[images] == task
    return np.isin(labels[images], scenario.steps[task])


def _by_part(scenario: TaskScenario) -> bool:
    return scenario.kind == 'domain' and not scenario.permute
