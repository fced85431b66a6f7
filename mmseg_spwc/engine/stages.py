"""Overrides by stage and by scenario: what ``method`` and ``schedule`` hold.

Both are dicts with pieces of a config, by stage::

    dict(every=..., first=..., later=..., step_3=...)

and, optionally, a table of what differs between scenarios, in which each row
is again a dict of stages::

    dict(..., by_scenario={'ade': dict(later=...), 'voc 15-1': ...})
"""
import re
from collections.abc import Iterable, Mapping

from mmengine.config import Config

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.scenario import Scenario, check_row_name, row_names

STAGES = ('every', 'first', 'later')
TABLE = 'by_scenario'
GROUPS = ('schedule', 'method')  # in the order in which they are merged


def is_stage(key: str) -> bool:
    """Whether a key of ``method`` or ``schedule`` names a stage."""
    return key in STAGES or re.fullmatch(r'step_\d+', key) is not None


def for_scenario(group: Mapping | None, scenario: Scenario) -> dict:
    """Return ``method`` or ``schedule`` as it is in a scenario.

    The rows of its table that fit the scenario are merged into the stages,
    the general one first: that of the data set (``'voc'``), then that of the
    scenario (``'voc 15-1'``), then that of its class order
    (``'voc 15-1b'``).

    Args:
        group (Mapping, optional): Dict of stages, with or without a table.
        scenario (Scenario): What is learnt when.

    Returns:
        dict: The same without a table.
    """
    merged = Config(dict(group=dict(group or {})))
    table = merged.group.pop(TABLE, None) or {}
    for name in row_names(scenario):
        if table.get(name):
            merged.merge_from_dict(dict(group=table[name].to_dict()))
    return merged.group.to_dict()


def stage_of(method: Mapping, step: int) -> str:
    """Return ``'first'`` or ``'later'``."""
    return 'first' if step == 0 or method.get('restart') else 'later'


def overrides(group: Mapping | None, stage: str, step: int) -> dict:
    """Return the overrides of ``method`` or ``schedule`` for a step.

    Args:
        group (Mapping, optional): Dict with ``every``, ``first``, ``later``
            and ``step_N``; the more special one wins.
        stage (str): ``'first'`` or ``'later'``.
        step (int): The step.

    Returns:
        dict: By name, in the order in which they are to be merged.
    """
    group = group or {}
    names = ('every', stage, f'step_{step}')
    return {name: group[name] for name in names if group.get(name)}


def check_table(cfg: Mapping, group: str) -> None:
    """Refuse a table with a row that no scenario or no stage has.

    Args:
        cfg (Mapping): The config of the sequence.
        group (str): ``'method'`` or ``'schedule'``.
    """
    table = (cfg.get(group) or {}).get(TABLE) or {}
    if not isinstance(table, Mapping):
        raise ConfigError(f'{group}.{TABLE} is {table!r}: give a dict.')
    for name, row in table.items():
        where = f'{group}.{TABLE}[{name!r}]'
        try:
            check_row_name(name, cfg.get('scenario') or {})
        except ValueError as error:
            raise ConfigError(f'{where}: {error}') from error
        if not isinstance(row, Mapping | None):
            raise ConfigError(f'{where} is {row!r}: give a dict of stages.')
        for key, stage in (row or {}).items():
            if not is_stage(key) or not isinstance(stage, Mapping | None):
                raise ConfigError(
                    f'{where} has {key}={stage!r}: a row holds dicts named '
                    f'{", ".join(STAGES)} or step_1, step_2, ...')


def check_effect(cfg: Mapping, scenario: Scenario, steps: Iterable[int],
                 options: Mapping) -> None:
    """Refuse an option that the stages of all steps set otherwise.

    Args:
        cfg (Mapping): The config of the sequence, with the options merged.
        scenario (Scenario): What is learnt when.
        steps (Iterable[int]): The steps that are trained.
        options (Mapping): Values by dotted key, as ``--cfg-options`` are.
    """
    groups = {g: for_scenario(cfg.get(g), scenario) for g in GROUPS}
    for key, value in options.items():
        places = [_decider(groups, key, value, step) for step in steps]
        if all(places):
            names = ', '.join(f'{p}.{key}' for p in dict.fromkeys(places))
            raise ConfigError(
                f'--cfg-options {key}={value} has no effect: every step has '
                f'a value of its own. Set {names}.')


def _decider(groups: Mapping, key: str, value: object,
             step: int) -> str | None:
    """Where another value is set for a step, such as ``method.later``."""
    found = None
    stage = stage_of(groups['method'], step)
    for group in GROUPS:
        for name, change in overrides(groups[group], stage, step).items():
            for part in key.split('.'):
                known = isinstance(change, Mapping) and part in change
                change = change[part] if known else value
                if not known:
                    break
            else:
                found = None if change == value else f'{group}.{name}'
    return found
