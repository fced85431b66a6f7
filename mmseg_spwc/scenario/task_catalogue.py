"""Scenarios of classification by name."""
import re
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from .checks import unknown, whole_number
from .orders import Steps
from .tasks import TaskScenario

ORDERS = ('random', 'natural')


@dataclass(frozen=True)
class _TaskDataset:
    """What the catalogue knows of one dataset.

    Args:
        names: Published names.
        rule: What a name means, for a message.
        steps: Steps of a name by class order, or None where it has no
            meaning.
        common: Fields of every scenario of the dataset.
    """

    names: tuple[str, ...]
    rule: str
    steps: Callable[[np.ndarray, str], Steps | None]
    common: dict


def split_steps(classes: np.ndarray, name: str) -> Steps | None:
    """Steps of a name ``AxB``: A tasks of B classes each, using up all."""
    match = re.fullmatch(r'(\d+)x(\d+)', name)
    if match is None:
        return None
    tasks, size = map(int, match.groups())
    if tasks * size != len(classes):
        return None
    return tuple(map(tuple, classes.reshape(tasks, size).tolist()))


def permuted_steps(classes: np.ndarray, name: str) -> Steps | None:
    """Steps of a name that is the number of tasks."""
    if re.fullmatch(r'[1-9]\d*', name) is None:
        return None
    return tuple((f'p{t}', ) for t in range(int(name)))


def _split(num_classes: int, *names: str) -> _TaskDataset:
    rule = ('A name AxB makes A tasks of B classes and has to use up all '
            f'{num_classes}')
    common = {'kind': 'task', 'num_classes': num_classes}
    return _TaskDataset(names, rule, split_steps, common)


def _permuted() -> _TaskDataset:
    common = {'kind': 'domain', 'num_classes': 10, 'permute': True}
    return _TaskDataset(('10', ), 'A name is the number of tasks',
                        permuted_steps, common)


_DATASETS = {
    'permuted_mnist': _permuted(),
    'permuted_digits': _permuted(),
    'cifar100': _split(100, '10x10', '20x5', '5x20'),
    'tiny_imagenet': _split(200, '10x20', '20x10', '5x40'),
}

_OVERRIDES = [f.name for f in fields(TaskScenario)][2:]


def get_task_scenario(dataset: str,
                      name: str | None = None,
                      order: str | None = None,
                      **overrides) -> TaskScenario:
    """Build a scenario of classification by name or from own steps.

    Args:
        dataset: ``permuted_mnist``, ``permuted_digits``, ``cifar100`` or
            ``tiny_imagenet``; any other name together with ``kind``,
            ``steps`` and ``num_classes``.
        name: The number of tasks of a permuted dataset; ``AxB`` for A tasks
            of B classes. Free where ``steps`` are given.
        order: ``random``: the scenario's ``seed`` decides which classes make
            a task; ``natural``: by id. Defaults to ``random``.
        **overrides: Fields of :class:`TaskScenario`, such as ``seed`` or
            ``kind='class'``. None leaves a field as it is.

    Returns:
        TaskScenario: The scenario.
    """
    for key in overrides:
        if key not in _OVERRIDES:
            known = ('order', *_OVERRIDES)
            raise TypeError(unknown('scenario keyword', key, known))
    given = {k: v for k, v in overrides.items() if v is not None}
    if dataset in _DATASETS:
        given = {**_DATASETS[dataset].common, **given}
        if 'steps' not in given:
            given['steps'] = _named_steps(dataset, name, order, given)
            order = None
    elif not {'kind', 'steps', 'num_classes'} <= set(given):
        raise ValueError(
            unknown('dataset', dataset, _DATASETS) +
            ' A dataset of your own needs kind, steps and num_classes.')
    if order is not None:
        raise ValueError(f'order={order!r} is of no use beside steps, which '
                         'are an order already: remove one of the two.')
    return TaskScenario(dataset, name or 'custom', **given)


def _named_steps(dataset: str, name: str | None, order: str | None,
                 given: dict) -> Steps:
    entry = _DATASETS[dataset]
    if order is not None and order not in ORDERS:
        raise ValueError(unknown('order', order, ORDERS))
    classes = np.arange(whole_number(given['num_classes'], 'num_classes'))
    if order != 'natural':
        seed = whole_number(given.get('seed', 0), 'seed')
        classes = np.random.default_rng(seed).permutation(classes)
    steps = entry.steps(classes, str(name))
    if steps is None:
        raise ValueError(
            unknown(f'scenario of {dataset}', name, entry.names) +
            f' {entry.rule}; or give steps.')
    return steps
