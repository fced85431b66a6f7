"""What a user writes wins over the tables of the fragments, everywhere."""
import copy
import functools
from pathlib import Path

import pytest
from mmengine.config import Config
from test_config_tree import CONFIGS, LEAVES, files_behind

from mmseg_spwc.config.stages import GROUPS, TABLE, overrides, tables_of
from mmseg_spwc.config.step import scenario_of
from mmseg_spwc.config.types import TRANSITION
from mmseg_spwc.engine import step_config
from mmseg_spwc.scenario.catalogue import CATALOGUE

FRAGMENTS = sorted(path for path in CONFIGS.glob('**/_base_/**/*.py')
                   if TABLE in path.read_text())


@functools.cache
def load(leaf: Path) -> Config:
    cfg = Config.fromfile(leaf)
    cfg.work_dir = 'work'
    return cfg


def tables_in(cfg: Config) -> dict:
    """The outermost tables of a config, by the dotted key of their place."""
    return {
        where: table for group in GROUPS
        for where, table in tables_of(cfg.get(group), group)
        if TABLE not in where
    }


def scenarios_of(cfg: Config) -> list:
    """The scenarios of a leaf's dataset that have later steps."""
    found = []
    names = dict.fromkeys([cfg.scenario.name])
    if cfg.scenario.get('problem') != 'classification':
        names.update(dict.fromkeys(
            CATALOGUE['segmentation'][cfg.scenario.dataset]['names']))
    for name in names:
        own = copy.deepcopy(cfg)
        own.scenario.name = name
        found.append(scenario_of(own))
    return [scenario for scenario in found if scenario.num_steps > 1]


def at(part: dict, place: str) -> object:
    for word in place.split('.'):
        part = part[word]
    return part


def users_value(table: dict) -> object:
    """Another value of the kind that a table holds."""
    row = next(row for row in table.values() if row is not None)
    if isinstance(row, dict):
        return dict(_delete_=True, type='Own')
    return 'own' if isinstance(row, str) else 77 * type(row)(True)


@pytest.mark.parametrize('leaf', LEAVES, ids=lambda path: path.stem)
def test_a_plain_value_replaces_a_table(leaf):
    plain = load(leaf)
    found = tables_in(plain)
    if not found:
        return
    cfg = copy.deepcopy(plain)
    given = {place: users_value(table) for place, table in found.items()}
    cfg.merge_from_dict(copy.deepcopy(given))
    assert not tables_in(cfg)
    for scenario in scenarios_of(cfg):
        for place, value in given.items():
            group, stage, rest = place.split('.', 2)
            step = 0 if stage == 'first' else scenario.num_steps - 1
            if isinstance(value, dict):
                value.pop('_delete_', None)
            assert at(overrides(cfg, group, scenario, step)[stage],
                      rest) == value


@pytest.mark.parametrize('leaf', LEAVES, ids=lambda path: path.stem)
def test_keys_that_are_set_inside_a_table_s_part_win(leaf):
    plain = load(leaf)
    for place, table in tables_in(plain).items():
        kept = {k: v for k, v in table.items() if isinstance(v, dict)}
        for key in set().union(*kept.values()):
            cfg = copy.deepcopy(plain)
            # in the other scenarios there is no such part
            cfg.merge_from_dict({f'{place}.{TABLE}': dict(
                kept, _delete_=True), f'{place}.{key}': 77})
            group, stage, rest = place.split('.', 2)
            for scenario in scenarios_of(cfg):
                step = 0 if stage == 'first' else scenario.num_steps - 1
                change = overrides(cfg, group, scenario, step)[stage]
                assert at(change, f'{rest}.{key}') == 77


def nested(values: dict) -> dict:
    """Values by dotted key as the dicts that a config file holds."""
    whole = {}
    for place, value in values.items():
        *outer, last = place.split('.')
        part = whole
        for word in outer:
            part = part.setdefault(word, {})
        part[last] = value
    return whole


@pytest.mark.parametrize(
    'fragment', FRAGMENTS,
    ids=lambda path: str(path.relative_to(CONFIGS)))
def test_a_file_that_inherits_a_leaf_wins(fragment, tmp_path):
    """For each table of each fragment, in the config of a step."""
    places = tables_in(Config.fromfile(fragment))
    leaf = next(path for path in LEAVES if fragment in files_behind(path)
                and places.keys() <= tables_in(load(path)).keys())
    given = {place: users_value(table)
             for place, table in tables_in(load(leaf)).items()}
    given = {place: value / 100 if isinstance(value, float) else value
             for place, value in given.items()}
    own = tmp_path / 'own.py'
    own.write_text(f"_base_ = r'{leaf}'\n" + ''.join(
        f'{key} = {value}\n' for key, value in nested(given).items()))
    cfg = load(own)
    for scenario in scenarios_of(cfg):
        for place, value in given.items():
            group, stage, rest = place.split('.', 2)
            if isinstance(value, dict):
                value = dict(type='Own')
            step = 0 if stage == 'first' else scenario.num_steps - 1
            out = step_config(cfg, scenario, step)
            if rest.startswith('hooks.'):  # they end in MMEngine's list
                _, hook, *rest = rest.split('.')
                kind = at(cfg, f'{group}.{stage}.hooks.{hook}').get(
                    'type', TRANSITION)
                out = next(h for h in out.custom_hooks if h.type == kind)
                rest = '.'.join(rest)
            assert (at(out, rest) if rest else out) == value
