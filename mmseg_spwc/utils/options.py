"""What the value of an option may be, and how to say so.

The options of a part are the arguments of its constructor, so their type
hints tell most mistakes: a text in place of a number, a number in place of a
dict. Each part checks its own ranges.
"""
import functools
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import NamedTuple

from torch import Tensor

PACKAGE = __name__.partition('.')[0]


class OptionError(TypeError, ValueError):
    """An option is of a wrong type, or NaN where a number belongs."""


class Kind(NamedTuple):
    """A kind of value: the test for it, and its words in a sentence."""
    fits: Callable[[object], bool]
    words: str


def is_number(value: object) -> bool:
    """Whether it is a number or a tensor of one; NaN and True are none."""
    if isinstance(value, Tensor) and value.ndim == 0:
        value = value.item()
    return isinstance(value, Real) and not isinstance(value, bool) and \
        not math.isnan(value)


def is_whole(value: object) -> bool:
    """Whether it is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_positive(value: object) -> bool:
    """Whether it is a whole number above 0."""
    return is_whole(value) and value > 0


def is_flag(value: object) -> bool:
    """Whether it is True or False."""
    return value in (True, False)


def is_list(value: object) -> bool:
    """Whether it is a sequence of values, which a text is not."""
    return isinstance(value, Sequence) and not isinstance(value, str)


FLAG = Kind(is_flag, 'True or False')
WHOLE = Kind(is_whole, 'a whole number')
POSITIVE = Kind(is_positive, 'a whole number above 0')
NOT_NEGATIVE = Kind(lambda v: is_number(v) and 0 <= v < math.inf,
                    'a number, 0 or more')
ABOVE_0 = Kind(lambda v: is_number(v) and v > 0, 'a number above 0')
TEXT = Kind(lambda v: isinstance(v, str), 'a text')
LIST = Kind(is_list, 'a list')
DICT = Kind(lambda v: isinstance(v, Mapping), 'a dict')
BY_HINT = {
    bool: FLAG,
    int: WHOLE,
    float: Kind(is_number, 'a number'),
    str: TEXT,
    types.NoneType: Kind(lambda v: v is None, 'None'),
    list: LIST,
    tuple: LIST,
    Sequence: LIST,
    dict: DICT,
    Mapping: DICT,
    Callable: Kind(callable, 'a function'),
}


def check_options(part: Callable, options: Mapping,
                  name: str | None = None) -> None:
    """Refuse options of another type than their type hints say.

    Only hints of this package count, and of kinds that a config can spell.
    Messages call the part ``name``, by default its own.
    """
    hints = _hints(part)
    for key, value in options.items():
        kinds = _kinds(hints.get(key))
        if kinds and not any(_fits(value, hint) for hint in kinds):
            words = ' or '.join(dict.fromkeys(
                BY_HINT[_plain(hint)].words for hint in kinds))
            raise OptionError(f'{name or part.__name__}.{key} is {value!r}: '
                              f'give {words}.')


def regular_expression(text: str, name: str) -> re.Pattern:
    """Compile the text of an option, or say that it cannot be."""
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f'{name} is {text!r}: give a regular expression '
                         f'({error}).') from error


@functools.cache
def _hints(part: Callable) -> dict:
    """Type hints by argument; those of a class win over its bases'."""
    if inspect.isclass(part):
        makers = [vars(base)['__init__'] for base in reversed(part.__mro__)
                  if '__init__' in vars(base)]
    else:
        makers = [part]
    return {name: parameter.annotation
            for maker in makers
            if (getattr(maker, '__module__', '') or '').startswith(PACKAGE)
            for name, parameter in inspect.signature(maker).parameters.items()
            if parameter.kind not in (parameter.VAR_POSITIONAL,
                                      parameter.VAR_KEYWORD)}


def _kinds(hint: object) -> tuple:
    """The alternatives of a hint; empty if one of them is unknown."""
    union = typing.get_origin(hint) in (types.UnionType, typing.Union)
    hints = typing.get_args(hint) if union else (hint, )
    return hints if all(_plain(h) in BY_HINT for h in hints) else ()


def _plain(hint: object) -> object:
    return typing.get_origin(hint) or hint


def _fits(value: object, hint: object) -> bool:
    kind = BY_HINT[_plain(hint)]
    if kind is not LIST or not typing.get_args(hint):
        return kind.fits(value)
    items = _kinds(typing.get_args(hint)[0])
    return kind.fits(value) and (not items or all(
        any(_fits(item, hint) for hint in items) for item in value))
