"""Checks of scenarios; every message says what is wrong and what to do.

A scenario is checked twice: its words before they decide how the steps are
read, and the whole of it afterwards.
"""
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from mmseg_spwc.labels import VOID

if TYPE_CHECKING:
    from .classification import ClassificationScenario
    from .scenario import Scenario
    from .segmentation import SegmentationScenario

MOST_CLASSES = 1_000_000
SETTINGS = ('overlapped', 'disjoint', 'sequential', 'partitioned')

_SEGMENTATION_WORDS = {
    'setting': SETTINGS,
    'kind': ('class', 'domain'),
    'future': ('background', 'ignore'),
    'void': ('ignore', 'background'),
    'label_offset': (0, 1),
}
_CLASSIFICATION_WORDS = {
    'kind': ('task', 'class', 'domain'),
    'heads': ('shared', 'per_step'),
}
_HEADS = {'task': ('per_step', ), 'class': ('shared', )}


def unknown(what: str, value: Any, known: Iterable) -> str:
    """Message for a value that is not among the known ones."""
    known = [str(k) for k in known]
    near = get_close_matches(str(value), known, n=1, cutoff=0.5)
    hint = f"Did you mean '{near[0]}'? " if near else ''
    return f'Unknown {what} {value!r}. {hint}Known: {", ".join(known)}.'


def whole_number(value: Any, name: str) -> int:
    """Return a plain int, or say which field is none."""
    if not isinstance(value, Integral):
        raise TypeError(f'{name} is {value!r}: give a whole number.')
    return int(value)


def seed_number(value: Any) -> int:
    """Return a seed that NumPy takes."""
    seed = whole_number(value, 'seed')
    if seed < 0:
        raise ValueError(f'The seed is {seed}: give 0 or more.')
    return seed


def number(value: Any, name: str) -> float:
    """Return a plain float, or say which field is none."""
    if not isinstance(value, Real):
        raise TypeError(f'{name} is {value!r}: give a number.')
    return float(value)


def flag(value: Any, name: str) -> bool:
    """Return a plain bool, or say which field is none."""
    if value not in (True, False):
        raise TypeError(f'{name} is {value!r}: give True or False.')
    return bool(value)


def plain_steps(steps: Iterable[Iterable], kind: str) -> tuple[tuple, ...]:
    """Tuples of plain str for domains, of plain int for classes."""
    unit, cast = (str, str) if kind == 'domain' else (Integral, int)
    tidy = []
    if not isinstance(steps, Iterable):
        raise TypeError(f'steps is {steps!r}: give a list of steps, each a '
                        'list of class ids (domains), such as [[1, 2], [3]].')
    for t, step in enumerate(steps):
        if isinstance(step, (str, Integral)):
            raise TypeError(
                f'Step {t} is {step!r}: write every step as a list, such as '
                f'[{step!r}].')
        wrong = [item for item in step if not isinstance(item, unit)]
        if wrong:
            raise TypeError(
                f'Step {t} holds {wrong[0]!r}: a scenario of kind {kind!r} '
                f'lists {"class ids" if cast is int else "domain names"}.')
        tidy.append(tuple(cast(item) for item in step))
    return tuple(tidy)


def foreground_steps(steps: Iterable[Iterable],
                     kind: str) -> tuple[tuple, ...]:
    """:func:`plain_steps` without the implicit background."""
    tidy = plain_steps(steps, kind)
    if kind == 'class' and tidy:
        first = tuple(c for c in tidy[0] if c != 0)
        return (first, *tidy[1:])
    return tidy


def check_segmentation_words(scenario: 'SegmentationScenario') -> None:
    """Refuse a word that a field may not hold."""
    _check_words(scenario, _SEGMENTATION_WORDS)


def check_segmentation(scenario: 'SegmentationScenario') -> None:
    """Refuse steps that contradict each other or the dataset."""
    _check_steps(scenario)
    if scenario.kind == 'domain':
        _check_pixel_domains(scenario)
    else:
        _check_pixel_classes(scenario)


def check_classification_words(scenario: 'ClassificationScenario') -> None:
    """Refuse words that a field may not hold, or not beside another."""
    _check_words(scenario, _CLASSIFICATION_WORDS)
    allowed = _HEADS.get(scenario.kind, _CLASSIFICATION_WORDS['heads'])
    if scenario.heads not in allowed:
        raise ValueError(
            f'A scenario of kind {scenario.kind!r} cannot have '
            f'heads={scenario.heads!r}: where the task is known every task '
            "has its head (kind='task'), where it is not there is one "
            "(kind='class'); leave heads out.")
    if scenario.permute and scenario.kind != 'domain':
        raise ValueError("permute needs kind='domain': the classes stay, "
                         'the pixels are shuffled.')
    if scenario.turns != 1 and not scenario.permute:
        raise ValueError('turns needs permute=True: a data set that is '
                         'taken again is another task by its permutation.')


def check_classification(scenario: 'ClassificationScenario') -> None:
    """Refuse steps that contradict each other or the dataset."""
    if not 2 <= scenario.num_classes <= MOST_CLASSES:
        raise ValueError(f'num_classes is {scenario.num_classes}: give a '
                         f'number from 2 to {MOST_CLASSES}.')
    _check_steps(scenario)
    if scenario.turns < 1:
        raise ValueError(f'turns is {scenario.turns}: give 1 or more.')
    for field in ('noise', 'rotation'):
        if not 0 <= getattr(scenario, field) < math.inf:
            raise ValueError(f'{field} is {getattr(scenario, field)}: give 0 '
                             'or more.')
    if scenario.kind != 'domain':
        _check_learnt(scenario, 0, '', 'leave them out')
        return
    for t, step in enumerate(scenario.steps):
        if len(step) != 1:
            raise ValueError(
                f'Step {t} has the domains {", ".join(step)}: give every '
                'domain a step of its own.')


def _check_words(scenario: 'Scenario',
                 allowed: Mapping[str, Sequence]) -> None:
    for field, choices in allowed.items():
        if getattr(scenario, field) not in choices:
            raise ValueError(
                unknown(field, getattr(scenario, field), choices))


def _check_steps(scenario: 'Scenario') -> None:
    """Refuse an empty step, and what is in two steps."""
    if not scenario.steps:
        raise ValueError('The scenario has no steps: give at least one.')
    unit = 'domain' if scenario.kind == 'domain' else 'class'
    step_of = {}
    for t, step in enumerate(scenario.steps):
        if not step:
            raise ValueError(
                f'Step {t} learns nothing: put a {unit} into it or '
                'remove it.')
        for item in step:
            if item in step_of:
                raise ValueError(
                    f'{item!r} is in step {step_of[item]} and again in step '
                    f'{t}: every {unit} belongs to one step.')
            step_of[item] = t


def _check_learnt(scenario: 'Scenario', first: int, note: str,
                  otherwise: str) -> None:
    """Refuse ids from ``first`` on that do not exist or are left out."""
    known = set(range(first, scenario.num_classes))
    learnt = {c for step in scenario.steps for c in step}
    if learnt - known:
        raise ValueError(
            f'Class ids {sorted(learnt - known)} are out of range: ids go '
            f'from {first} to {scenario.num_classes - 1}{note}.')
    if known - learnt and not scenario.partial:
        raise ValueError(
            f'No step learns the classes {sorted(known - learnt)}: add them '
            f'to a step, or set partial=True to {otherwise}.')


def _check_pixel_classes(scenario: 'SegmentationScenario') -> None:
    if not 2 <= scenario.num_classes <= VOID:
        raise ValueError(f'num_classes is {scenario.num_classes}: give a '
                         f'number from 2 to {VOID}.')
    if scenario.domain_pattern is not None or scenario.test_ratio:
        raise ValueError("domain_pattern and test_ratio need kind='domain': "
                         'remove them or set the kind.')
    _check_learnt(scenario, 1, ', and background (0) may be written in step '
                  '0 only', 'leave them background')


def _check_pixel_domains(scenario: 'SegmentationScenario') -> None:
    if not 1 <= scenario.num_classes <= VOID:
        raise ValueError(f'num_classes is {scenario.num_classes}: give a '
                         f'number from 1 to {VOID}.')
    if scenario.label_offset or scenario.void == 'background':
        raise ValueError("A scenario of kind 'domain' has no background: "
                         "leave label_offset at 0 and void at 'ignore'.")
    if not 0 <= scenario.test_ratio < 1:
        raise ValueError(f'test_ratio is {scenario.test_ratio}: give a share '
                         'from 0 to below 1.')
    pattern = scenario.domain_pattern
    if _num_groups(pattern) != 1:
        raise ValueError(
            f'domain_pattern is {pattern!r}: give a regular expression with '
            "one group that finds the domain, such as r'^([a-z]+)_'.")


def _num_groups(pattern: str | None) -> int:
    try:
        return re.compile(pattern or '').groups
    except re.error as error:
        raise ValueError(
            f'domain_pattern {pattern!r} is not a regular expression '
            f'({error}): correct it.') from error
