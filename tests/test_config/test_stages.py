"""Overrides by stage, and the tables in which a step looks itself up."""
import copy

import pytest
from mmengine.config import Config

from mmseg_spwc.config.stages import (
    NOTHING,
    check_effect,
    check_tables,
    overrides,
    resolve,
)
from mmseg_spwc.engine import step_config
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.scenario import build_scenario, get_scenario, row_names


def lr(value: object) -> dict:
    return dict(optim_wrapper=dict(optimizer=dict(lr=value)))


def table(rows: dict, **beside) -> dict:
    return dict(by_scenario=rows, **beside)


RATES = table({
    'default': 1, 'voc': 2, 'voc 15-1': 3, 'voc 15-1 step_2': 4,
    'voc 15-1c': 5, 'voc 15-1c step_3': 6})
ROWS = ('voc 15-1', 'voc', 'default')


def test_the_more_special_stage_comes_last():
    cfg = dict(method=dict(every='e', first='f', later='l', step_2='s'))
    scenario = get_scenario('voc', '10-1')
    assert list(overrides(cfg, 'method', scenario, 2).values()) == [
        'e', 'l', 's']
    assert list(overrides(cfg, 'method', scenario, 0)) == ['every', 'first']
    assert overrides(cfg, 'schedule', scenario, 0) == {}


@pytest.mark.parametrize('dataset, name, expected', [
    ('shapes', '6-1', 1), ('voc', '19-1', 2), ('voc', '15-5', 2),
    ('voc', '15-1', 3), ('voc', '15-5s', 3), ('voc', '15-1b', 3),
    ('voc', '15-1c', 5), ('voc', '15-5s_c', 5), ('ade', '100-50', 1)])
def test_the_row_that_fits_best_is_taken(dataset, name, expected):
    before = copy.deepcopy(RATES)
    scenario = get_scenario(dataset, name)
    assert resolve(RATES, row_names(scenario, 1)) == expected
    assert resolve(RATES, row_names(scenario, 2)) == (
        4 if expected == 3 else expected)
    assert resolve(RATES, row_names(scenario, 3)) == (
        6 if expected == 5 else expected)
    assert before == RATES


def test_the_user_s_steps_take_the_row_of_the_data_set():
    scenario = get_scenario('voc', steps=[range(1, 11), range(11, 21)])
    assert resolve(RATES, row_names(scenario, 1)) == 2


@pytest.mark.parametrize('value, expected', [
    (table({'voc': dict(a=1), 'voc 15-1': dict(b=1)}), dict(b=1)),  # alone
    (table({'voc': dict(a=1)}, a=2, c=3), dict(a=2, c=3)),
    (table({'voc': dict(a=dict(x=1, y=1))}, a=dict(y=2)),
     dict(a=dict(x=1, y=2))),
    (table({'voc': dict(a=dict(x=1))}, a=dict(_delete_=True, y=2)),
     dict(a=dict(y=2))),
    (table({'voc': None}), None),
    (table({'voc': table({'default': 3})}), 3),
    (table({'voc': dict(a=table({'default': 3}))}, b=table({'default': 4})),
     dict(a=3, b=4)),
    (table({'ade': 1}), NOTHING),
    (table({'ade': 1}, a=2), dict(a=2)),
    (table({'voc': table({'ade': 1})}), NOTHING),
    (dict(a=table({'ade': 1}), b=2), dict(b=2)),
    ([1, table({'voc': 2}), dict(a=table({'voc': 3})), table({'ade': 4})],
     [1, 2, dict(a=3)]),
    (('a', table({'voc': ('b', )})), ('a', ('b', ))),
    (dict(by_scenario=None), NOTHING),
    (dict(by_scenario=None, a=1), dict(a=1)),
])
def test_rows_and_the_keys_beside_them(value, expected):
    assert resolve(value, ROWS) == expected
    assert resolve(Config(dict(v=value)).v, ROWS) == expected


@pytest.mark.parametrize('row', [None, 3, 'text'])
def test_no_key_is_set_in_what_is_no_dict(row):
    with pytest.raises(ConfigError, match=(
            r"later.kd is .* by the row 'voc' of its table, so loss_weight "
            r'cannot be set in it: give all of it, as later.kd=dict\(_del')):
        resolve(dict(kd=table({'voc': row}, loss_weight=1)), ROWS, 'later')


def test_a_dict_over_a_row_s_number_is_refused():
    value = dict(cube=table({'voc': dict(factor=1)}, factor=dict(a=1)))
    with pytest.raises(ConfigError, match='later.cube: .*cannot inherit'):
        resolve(value, ROWS, 'later')


def test_a_step_has_what_its_row_says(tiny_config):
    cfg = tiny_config()
    cfg.merge_from_dict(dict(
        method=dict(later=lr(table({
            'shapes': 0.5, 'shapes 6-1 step_2': 0.25}))),
        schedule=dict(every=dict(my_key=table({'shapes': 1, 'voc': 2})))))
    scenario = build_scenario(cfg.scenario.to_dict())
    steps = [step_config(cfg, scenario, s) for s in range(3)]
    expected = [0.05, 0.5, 0.25 if scenario.name == '6-1' else 0.5]
    assert [s.optim_wrapper.optimizer.lr for s in steps] == expected
    assert [s.my_key for s in steps] == [1, 1, 1]


@pytest.mark.parametrize('rows, message', [
    ({'vok': 1}, r"later.lr.by_scenario\['vok'\]: Unknown dataset 'vok'. Did "
     "you mean 'voc'"),
    ({'defautl': 1}, "Did you mean 'default'"),
    ({'voc 15-11': 1}, "Unknown scenario of voc '15-11'. .*'15-1'"),
    ({'voc 15-5s': 1}, "second name: write '15-1'"),
    ({'voc 15-1 step_6': 1}, "'voc 15-1' has no step 6"),
    ({'voc step_1': 1}, "'voc' has no step 1: name a scenario and"),
    ({'voc 15-1 stp_1': 1}, "Unknown scenario of voc '15-1 stp_1'"),
    ({'ade animals step_2': 1}, "'ade animals' has no step 2"),
    ({'cifar100 10x11': 1}, "Unknown scenario of cifar100 '10x11'"),
    ({3: 1}, 'expected string'),
    (3, r'later.lr.by_scenario is 3: give a dict, such as loss_weight='),
    (['voc'], 'give a dict'),
    ({'voc': table({'vok': 1})},
     r"later.lr.by_scenario.voc.by_scenario\['vok'\]"),
])
def test_a_row_that_no_run_takes_is_refused(rows, message):
    own = dict(dataset='ade', name='animals', steps=[[1], [2]])
    cfg = dict(scenario=own, method=dict(later=dict(lr=table(rows))))
    with pytest.raises(ConfigError, match=message):
        check_tables(cfg, ['method'])


@pytest.mark.parametrize('row', [
    'default', 'voc', 'voc 15-1', 'voc 12-4', 'voc 15-1b', 'voc 15-1 step_5',
    'voc 15-1b step_0', 'ade 50-50', 'cityscapes_domain 1-1',
    'cifar100 20x5', 'cifar100 20x5 step_19', 'permuted_mnist', 'aerial',
    'aerial 2-1', 'aerial 2-1 step_3'])
def test_known_rows_and_those_of_the_own_data_set_are_fine(row):
    own = dict(dataset='aerial', name='2-1')
    check_tables(dict(scenario=own, method=dict(
        every=dict(a=[table({row: 1})]))), ['method'])


def test_a_name_of_one_s_own_order_is_fine():
    own = dict(dataset='voc', name='animals-first', steps=[[1], [2]])
    for row in ('voc animals-first', 'voc animals-first step_1'):
        check_tables(dict(scenario=own, schedule=dict(
            later=lr(table({row: 1})))), ['schedule'])


@pytest.mark.parametrize('cfg, message', [
    (dict(method=table({'voc': dict(later=lr(1))})),
     r'method.by_scenario is no longer a table of stages: .* such as '
     r"loss_weight=dict\(by_scenario=\{'default': 10., 'voc 15-1': 100.\}\)"),
    (dict(schedule=table({})), 'schedule.by_scenario is no longer'),
    (lr(table({'voc': 1})),
     'optim_wrapper.optimizer.lr is a table .* schedule.every.optim_wrapper'),
    (dict(method=dict(later=lr(dict(by_scenaro={'voc': 1})))),
     "Unknown key 'by_scenaro' in method.later.optim_wrapper.optimizer.lr: "
     "did you mean 'by_scenario'"),
])
def test_a_table_at_a_wrong_place_is_refused(cfg, message):
    with pytest.raises(ConfigError, match=message):
        check_tables(cfg, ['method', 'schedule', 'optim_wrapper'])


def test_free_names_may_hold_a_table_for_later_use():
    check_tables(dict(my_weights=table({'voc': 1})), ['method'])


def test_an_option_that_every_step_overrules_is_refused():
    cfg = Config(dict(
        schedule=dict(later=lr(0.001)),
        method=dict(first=lr(table({'voc': 0.02})))))
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
