"""Checks of a scenario of classification tasks."""
from typing import TYPE_CHECKING

from .checks import check_choices, check_steps

if TYPE_CHECKING:
    from .tasks import TaskScenario

_CHOICES = {
    'kind': ('task', 'class', 'domain'),
    'heads': ('shared', 'per_step'),
}
_HEADS = {'task': ('per_step', ), 'class': ('shared', )}


def check_words(scenario: 'TaskScenario') -> None:
    """Refuse words that a field may not hold, or not beside another."""
    check_choices(scenario, _CHOICES)
    if scenario.heads not in _HEADS.get(scenario.kind, _CHOICES['heads']):
        raise ValueError(
            f'A scenario of kind {scenario.kind!r} cannot have '
            f'heads={scenario.heads!r}: where the task is known every task '
            "has its head (kind='task'), where it is not there is one "
            "(kind='class'); leave heads out.")
    if scenario.permute and scenario.kind != 'domain':
        raise ValueError("permute needs kind='domain': the classes stay, "
                         'the pixels are shuffled.')


def check_tasks(scenario: 'TaskScenario') -> None:
    """Refuse steps that contradict each other or the dataset."""
    check_steps(scenario)
    if scenario.num_classes < 2:
        raise ValueError(f'num_classes is {scenario.num_classes}: give at '
                         'least 2.')
    if scenario.seed < 0:
        raise ValueError(f'The seed is {scenario.seed}: give 0 or more.')
    if scenario.kind == 'domain':
        _check_labels(scenario)
    else:
        _check_classes(scenario)


def _check_labels(scenario: 'TaskScenario') -> None:
    for t, step in enumerate(scenario.steps):
        if len(step) != 1:
            raise ValueError(
                f'Step {t} has the domains {", ".join(step)}: give every '
                'domain a step of its own.')


def _check_classes(scenario: 'TaskScenario') -> None:
    known = set(range(scenario.num_classes))
    learnt = {c for step in scenario.steps for c in step}
    if learnt - known:
        raise ValueError(
            f'Class ids {sorted(learnt - known)} are out of range: ids go '
            f'from 0 to {scenario.num_classes - 1}.')
    if known - learnt and not scenario.partial:
        raise ValueError(
            f'No step learns the classes {sorted(known - learnt)}: add them '
            'to a step, or set partial=True to leave them out.')
