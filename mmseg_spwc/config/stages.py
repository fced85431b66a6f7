"""Overrides by stage and by scenario: what ``method`` and ``schedule`` hold.

Both are dicts with pieces of a config, by stage::

    dict(every=..., first=..., later=..., step_3=...)

Inside them a value may be a table, which has a row for each scenario that
needs a value of its own::

    loss_weight=dict(by_scenario={'default': 10., 'voc 15-1': 100.})
"""
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping

from mmengine.config import Config

from mmseg_spwc.errors import ConfigError, input_errors
from mmseg_spwc.scenario import Scenario, check_row_name, row_names

STAGES = ('every', 'first', 'later')
TABLE = 'by_scenario'
GROUPS = ('schedule', 'method')  # in the order in which they are merged
_EXAMPLE = "loss_weight=dict(by_scenario={'default': 10., 'voc 15-1': 100.})"
NOTHING = object()


def is_stage(key: str) -> bool:
    """Whether a key of ``method`` or ``schedule`` names a stage."""
    return key in STAGES or re.fullmatch(r'step_\d+', key) is not None


def stage_of(method: Mapping, step: int) -> str:
    """Return ``'first'`` or ``'later'``."""
    return 'first' if step == 0 or method.get('restart') else 'later'


def overrides(cfg: Mapping, group: str, scenario: Scenario,
              step: int) -> dict:
    """Return the overrides of ``method`` or ``schedule`` for a step.

    They are by stage (``every``, then ``first`` or ``later``, then
    ``step_N``), in the order in which they are to be merged, with every table
    replaced by what it has for the step.
    """
    stages = cfg.get(group) or {}
    rows = row_names(scenario, step)
    found = {
        name: resolve(stages.get(name), rows, f'{group}.{name}')
        for name in ('every', stage_of(cfg['method'], step), f'step_{step}')
    }
    return {k: v for k, v in found.items() if v and v is not NOTHING}


def resolve(value: object, rows: tuple, where: str = '') -> object:
    """Replace every table inside a value by its row.

    Of the rows, named from the most special to the most general, the first
    that the table has is taken, alone; a table without one is ``NOTHING``.
    Keys beside the table are merged over it, as MMEngine merges: what a file
    sets inside a part holds in every scenario, whether or not its base has a
    table there.
    """
    if isinstance(value, (list, tuple)):
        items = (resolve(item, rows, where) for item in value)
        return type(value)(item for item in items if item is not NOTHING)
    if not isinstance(value, Mapping):
        return value
    beside = {key: resolve(part, rows, f'{where}.{key}')
              for key, part in value.items() if key != TABLE}
    beside = {key: part for key, part in beside.items() if part is not NOTHING}
    if TABLE not in value:
        return beside
    table = value[TABLE] or {}
    row = next((name for name in rows if name in table), None)
    chosen = NOTHING if row is None else resolve(table[row], rows, where)
    if chosen is NOTHING or not beside:
        return beside or chosen
    if not isinstance(chosen, Mapping):
        raise ConfigError(
            f'{where} is {chosen!r} by the row {row!r} of its table, so '
            f'{", ".join(beside)} cannot be set in it: give all of it, as '
            f'{where}=dict(_delete_=True, ...).')
    whole = Config(dict(part=chosen), format_python_code=False)
    with input_errors(where):
        whole.merge_from_dict(dict(part=beside))
    return whole.part.to_dict()


def tables_of(value: object, where: str) -> Iterator[tuple]:
    """Every table inside a value, with the dotted key of its place."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from tables_of(item, where)
    for key, part in value.items() if isinstance(value, Mapping) else ():
        if key == TABLE:
            yield where, part
            part = part if isinstance(part, Mapping) else {}
            for row, inner in part.items():
                yield from tables_of(inner, f'{where}.{TABLE}.{row}')
            continue
        if isinstance(part, Mapping) and difflib.get_close_matches(
                str(key), [TABLE], 1, 0.85):
            raise ConfigError(f'Unknown key {key!r} in {where}: did you mean '
                              f'{TABLE!r}?')
        yield from tables_of(part, f'{where}.{key}')


def check_tables(cfg: Mapping, keys: Iterable[str]) -> None:
    """Refuse a table at a wrong place, or with a row that no scenario has."""
    for key in keys:
        for where, table in tables_of(cfg.get(key), key):
            if key not in GROUPS:
                raise ConfigError(
                    f'{where} is a table ({TABLE}), which only schedule and '
                    f'method can hold: say schedule.every.{where}.')
            if where == key:
                raise ConfigError(
                    f'{where}.{TABLE} is no longer a table of stages: a '
                    'table stands at the place of the value it is for, '
                    f'such as {_EXAMPLE}.')
            _check_rows(table, f'{where}.{TABLE}', cfg.get('scenario') or {})


def _check_rows(table: object, where: str, scenario: Mapping) -> None:
    if not isinstance(table, Mapping | None):
        raise ConfigError(f'{where} is {table!r}: give a dict, such as '
                          f'{_EXAMPLE}.')
    for name in table or ():
        try:
            check_row_name(name, scenario)
        except (ValueError, TypeError) as error:
            raise ConfigError(f'{where}[{name!r}]: {error}') from error


def check_effect(cfg: Mapping, scenario: Scenario, steps: Iterable[int],
                 options: Mapping) -> None:
    """Refuse an option that the stages of all steps set otherwise."""
    changes = [[(f'{group}.{name}', change) for group in GROUPS
                for name, change in overrides(
                    cfg, group, scenario, step).items()] for step in steps]
    for key, value in options.items():
        places = [_decider(step, key, value) for step in changes]
        if all(places):
            names = ', '.join(f'{p}.{key}' for p in dict.fromkeys(places))
            raise ConfigError(
                f'--cfg-options {key}={value} has no effect: every step has '
                f'a value of its own. Set {names}.')


def _decider(changes: list, key: str, value: object) -> str | None:
    """Where another value is set for a step, such as ``method.later``."""
    found = None
    for place, change in changes:
        for part in key.split('.'):
            if not isinstance(change, Mapping) or part not in change:
                break
            change = change[part]
        else:
            found = None if change == value else place
    return found
