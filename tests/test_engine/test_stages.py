"""Overrides by stage, and the tables that a scenario looks itself up in."""
import copy

import pytest
from mmengine.config import Config

from mmseg_spwc.engine import step_config
from mmseg_spwc.engine.stages import (
    check_effect,
    check_table,
    for_scenario,
    overrides,
)
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.scenario import build_scenario, get_scenario


def lr(value: float) -> dict:
    return dict(optim_wrapper=dict(optimizer=dict(lr=value)))


def rate(group: dict, stage: str = 'later') -> float:
    return group[stage]['optim_wrapper']['optimizer']['lr']


GROUP = dict(
    later=lr(1),
    by_scenario={
        'voc': dict(later=lr(2)),
        'voc 15-1': dict(later=lr(3), step_2=lr(4)),
        'voc 15-1c': dict(later=lr(5)),
        'ade': dict(first=lr(6))
    })


def test_the_more_special_override_comes_last():
    group = dict(every='e', first='f', later='l', step_2='s')
    assert list(overrides(group, 'later', 2).values()) == ['e', 'l', 's']
    assert list(overrides(group, 'first', 0)) == ['every', 'first']
    assert overrides(None, 'first', 0) == {}


@pytest.mark.parametrize('dataset, name, expected', [
    ('shapes', '6-1', 1), ('voc', '19-1', 2), ('voc', '15-5', 2),
    ('voc', '15-1', 3), ('voc', '15-5s', 3), ('voc', '15-1b', 3),
    ('voc', '15-1c', 5), ('voc', '15-5s_c', 5), ('ade', '100-50', 1)])
def test_the_row_that_fits_wins(dataset, name, expected):
    before = copy.deepcopy(GROUP)
    found = for_scenario(GROUP, get_scenario(dataset, name))
    assert rate(found) == expected
    assert 'by_scenario' not in found
    assert before == GROUP
    assert ('step_2' in found) == (expected in (3, 5))
    assert ('first' in found) == (dataset == 'ade')


def test_the_user_s_steps_take_the_row_of_the_data_set():
    scenario = get_scenario('voc', steps=[range(1, 11), range(11, 21)])
    assert rate(for_scenario(GROUP, scenario)) == 2


def test_rows_merge_as_config_files_do():
    group = dict(
        name='x',
        later=dict(model=dict(losses=dict(kd=dict(type='A', a=1), pod=1))),
        by_scenario={
            'voc': dict(later=dict(model=dict(losses=dict(
                kd=dict(_delete_=True, type='B'), pod=None))))
        })
    assert for_scenario(group, get_scenario('voc', '10-1')) == dict(
        name='x',
        later=dict(model=dict(losses=dict(kd=dict(type='B'), pod=None))))


def test_a_group_without_a_table_is_as_it_was():
    scenario = get_scenario('voc', '10-1')
    assert for_scenario(None, scenario) == {}
    assert for_scenario(dict(later=lr(1)), scenario) == dict(later=lr(1))


def test_a_step_has_what_its_row_says(tiny_config):
    cfg = tiny_config()
    cfg.merge_from_dict(dict(method=dict(
        by_scenario=dict(shapes=dict(later=lr(0.5), step_2=lr(0.25))))))
    scenario = build_scenario(cfg.scenario.to_dict())
    rates = [step_config(cfg, scenario, s).optim_wrapper.optimizer.lr
             for s in range(3)]
    assert rates == [0.05, 0.5, 0.25]


@pytest.mark.parametrize('row, message', [
    ({'vok': {}}, "Unknown dataset 'vok'. Did you mean 'voc'"),
    ({'voc 15-11': {}}, "Unknown scenario of voc '15-11'. .*'15-1'"),
    ({'voc 15-5s': {}}, "second name: write '15-1'"),
    ({'cifar100 10x11': {}}, "Unknown scenario of cifar100 '10x11'"),
    ({'voc': 3}, 'give a dict of stages'),
    ({'voc': dict(latr={})}, 'has latr={}: a row holds dicts named every'),
    ({'voc': dict(later=3)}, 'has later=3'),
    (['voc'], 'give a dict'),
])
def test_a_row_that_no_run_takes_is_refused(row, message):
    cfg = dict(scenario=dict(dataset='ade'), method=dict(by_scenario=row))
    with pytest.raises(ConfigError, match=message):
        check_table(cfg, 'method')


@pytest.mark.parametrize('row', [
    'voc', 'voc 15-1', 'voc 12-4', 'voc 15-1b', 'ade 50-50',
    'cityscapes_domain 1-1', 'cifar100 20x5', 'permuted_mnist', 'aerial',
    'aerial 2-1'])
def test_known_rows_and_those_of_the_own_data_set_are_fine(row):
    own = dict(dataset='aerial', name='2-1')
    check_table(dict(scenario=own, method=dict(
        by_scenario={row: dict(every={}, step_3={}, later=None)})), 'method')


def test_a_name_of_one_s_own_order_is_fine():
    own = dict(dataset='voc', name='animals-first', steps=[[1], [2]])
    row = {'voc animals-first': {}}
    check_table(dict(scenario=own, schedule=dict(by_scenario=row)),
                'schedule')


def test_an_option_that_every_step_overrules_is_refused():
    cfg = Config(dict(
        schedule=dict(later=lr(0.001)), method=dict(first=lr(0.02))))
    key = 'optim_wrapper.optimizer.lr'

    def check(steps=range(11), **options):
        check_effect(cfg, get_scenario('voc', '10-1'), steps, options)

    with pytest.raises(ConfigError, match=rf'{key}=0.1 has no effect.* Set '
                       rf'method.first.{key}, schedule.later.{key}'):
        check(**{key: 0.1})
    check(**{key: 0.02})
    check(**{'optim_wrapper.optimizer.momentum': 0.1})
    del cfg.method['first']
    check(**{key: 0.1})  # the first step takes it
    with pytest.raises(ConfigError, match=rf'Set schedule.later.{key}\.'):
        check([10], **{key: 0.1})
    cfg.method.restart = True
    check(**{key: 0.1})
