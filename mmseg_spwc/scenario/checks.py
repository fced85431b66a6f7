"""Values of scenarios; every message says what is wrong and what to do."""
from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any


def unknown(what: str, value: Any, known: Iterable) -> str:
    """Message for a value that is not among the known ones."""
    known = [str(k) for k in known]
    near = get_close_matches(str(value), known, n=1, cutoff=0.5)
    hint = f"Did you mean '{near[0]}'? " if near else ''
    return f'Unknown {what} {value!r}. {hint}Known: {", ".join(known)}.'


def whole_number(value: Any, name: str) -> int:
    """Return a plain int, or raise an error that names the field."""
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
    """Return a plain float, or raise an error that names the field."""
    if not isinstance(value, Real):
        raise TypeError(f'{name} is {value!r}: give a number.')
    return float(value)


def flag(value: Any, name: str) -> bool:
    """Return a plain bool, or raise an error that names the field."""
    if value not in (True, False):
        raise TypeError(f'{name} is {value!r}: give True or False.')
    return bool(value)


def check_ratio(ratio: float) -> None:
    """Refuse a share of images that cannot be held out."""
    if not 0 <= ratio < 1:
        raise ValueError(f'The ratio is {ratio}: give a share from 0 to '
                         'below 1.')


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
