"""What options may be, by the type hints of their parts."""
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest

from mmseg_spwc.utils import options
from mmseg_spwc.utils.options import (
    OptionError,
    check_options,
    regular_expression,
)


class Base:

    def __init__(self, base: int = 1, both: int = 1) -> None:
        pass


class Part(Base):

    def __init__(self, *args, both: float = 1., flag: bool = False,
                 names: Sequence[str] = (), nested: Sequence[Sequence[int]]
                 = (), table: Mapping | None = None, form: str | dict = '',
                 find: str | Callable | None = None, other: Base | None = None,
                 free=None, **kwargs) -> None:
        pass


@dataclass
class Settings:
    share: float | None = None


@pytest.fixture(autouse=True)
def of_this_package(monkeypatch):
    monkeypatch.setattr(options, 'PACKAGE', __name__)
    options._hints.cache_clear()
    yield
    options._hints.cache_clear()


@pytest.mark.parametrize('given', [
    dict(base=3), dict(both=3), dict(both=float('inf')), dict(flag=1),
    dict(names=['a']), dict(names=()), dict(nested=[[1], (2, 3)]),
    dict(table=None), dict(table={}), dict(form='x'), dict(form={}),
    dict(find=len), dict(other=7), dict(free=[]), dict(unknown='x')])
def test_right_options(given):
    check_options(Part, given)


@pytest.mark.parametrize('given, words', [
    (dict(base=1.5), 'Part.base is 1.5: give a whole number.'),
    (dict(base=True), 'Part.base is True: give a whole number.'),
    (dict(both='x'), "Part.both is 'x': give a number."),
    (dict(both=float('nan')), 'Part.both is nan: give a number.'),
    (dict(flag='x'), "Part.flag is 'x': give True or False."),
    (dict(names='head'), "Part.names is 'head': give a list."),
    (dict(names=[3]), r'Part.names is \[3\]: give a list.'),
    (dict(nested=[[1], ['x']]), 'Part.nested .*: give a list.'),
    (dict(table=3), 'Part.table is 3: give a dict or None.'),
    (dict(form=None), 'Part.form is None: give a text or a dict.'),
    (dict(find=3), 'Part.find is 3: give a text or a function or None.'),
])
def test_wrong_options(given, words):
    with pytest.raises(OptionError, match=words):
        check_options(Part, given)


def test_fields_and_functions_have_hints_too():
    with pytest.raises(OptionError, match='mine.share is .half.: give a num'):
        check_options(Settings, dict(share='half'), 'mine')
    with pytest.raises(OptionError, match='mine.given'):
        check_options(typed, dict(given='x'), 'mine')


def typed(given: int) -> None:
    pass


def test_hints_of_other_packages_do_not_count(monkeypatch):
    monkeypatch.setattr(options, 'PACKAGE', 'elsewhere')
    check_options(Part, dict(base='x'))


def test_regular_expressions():
    assert regular_expression('a+', 'match').search('caat')
    with pytest.raises(ValueError, match=r"match is '\(': give a regular"):
        regular_expression('(', 'match')
