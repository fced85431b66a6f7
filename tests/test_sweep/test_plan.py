"""Which trials there are, which are done, which share a step 0."""
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.sweep.plan import (
    borrow_first_steps,
    plan_trials,
    plan_work,
    setting_label,
)
from mmseg_spwc.sweep.sweep_file import Method, Sweep


def sweep(*methods, scenarios=({}, ), seeds=(0, ), **options):
    return Sweep(**dict(
        dict(name='s', methods=methods, scenarios=scenarios, seeds=seeds,
             select='held-out mIoU', cpus=1, gpus=0, retries=2, work_dir='w'),
        **options))


def method(name='a', grid=None, step_0=None, **options):
    return Method(name, f'{name}.py', grid or {}, options, step_0)


def test_all_trials():
    grid = {'hook.strength': [1., 0.5], 'k': [3]}
    trials = plan_trials(sweep(
        method('finetune'), method('ewc', grid, n=7),
        scenarios=(dict(name='15-1'), dict(name='10-1', setting='disjoint')),
        seeds=(0, 3)))
    assert [t.name for t in trials[:6]] == [
        'finetune_15-1_seed0',
        'ewc_15-1_strength=1,k=3_seed0',
        'ewc_15-1_strength=0.5,k=3_seed0',
        'finetune_10-1-disjoint_seed0',
        'ewc_10-1-disjoint_strength=1,k=3_seed0',
        'ewc_10-1-disjoint_strength=0.5,k=3_seed0']
    assert len(trials) == 12 and {t.seed for t in trials[6:]} == {3}
    last = trials[-1]
    assert last.options == {
        'n': 7, 'scenario.name': '10-1', 'scenario.setting': 'disjoint',
        'randomness.seed': 3,
        'experiment_name': 'ewc_10-1-disjoint_strength=0.5,k=3'}
    assert last.setting == {'hook.strength': 0.5, 'k': 3}
    assert last.group == 'ewc_10-1-disjoint_strength=0.5,k=3'


def test_more_seeds_keep_the_old_names():
    one = plan_trials(sweep(method(grid={'k': [1, 2]})))
    two = plan_trials(sweep(method(grid={'k': [1, 2, 3]}), seeds=(0, 1)))
    assert {t.name for t in one} < {t.name for t in two}


def test_repetitions_are_refused():
    with pytest.raises(ConfigError, match='a_seed1 occurs 2 times'):
        plan_trials(sweep(method(), seeds=(1, 1)))
    with pytest.raises(ConfigError, match='k=1_seed0 occurs 2'):
        plan_trials(sweep(method(grid={'k': [1, 1.]})))


def test_steps_of_ones_own_go_by_their_name():
    own = dict(name='mine', steps=[[0, 1], [2]], partial=True, noise=0.5)
    trial, = plan_trials(sweep(method(), scenarios=(own, )))
    assert trial.scenario == 'mine-0.5'
    assert trial.options['scenario.steps'] == [[0, 1], [2]]


def test_labels_are_short_and_tell_keys_apart():
    assert setting_label({'a.b.lr': 1e-4, 'c.k': 'x'}) == 'lr=0.0001,k=x'
    assert setting_label({'a.lr': 1, 'b.lr': 2}) == 'a.lr=1,b.lr=2'
    assert setting_label({'x': 0.1 + 0.2}) == 'x=0.30000000000000004'
    assert setting_label({'age': dict(f=0.5)}) == 'age={"f": 0.5}'


def test_names_are_safe_and_different():
    values = [dict(f=0.5), dict(f=0.25), 'a/b', 'a b', 'x' * 400, 'x' * 401]
    names = [t.name for t in plan_trials(sweep(method(grid={'k': values})))]
    assert len(set(names)) == len(values)
    for name in names:
        assert len(name) < 200 and not set(name) & set('/ "{}:')


def test_two_that_need_the_same_step_0_share_one():
    work = plan_work(dict(a='x', b='x', c='y', d=None, e='x'), {}, [])
    assert work.trials == ['a', 'b', 'c', 'd', 'e']
    assert work.first_steps == dict(x='a')
    assert work.start_from == dict(a='x', b='x', e='x')


def test_a_step_0_that_is_there_is_taken():
    keys = dict(a='x', b='x', c='x')
    done = plan_work(keys, dict(x=1), [])
    assert done.first_steps == {}
    assert done.start_from == dict(a='x', b='x', c='x')
    # a trial that trained it alone gives it to those that came later
    work = plan_work(keys, dict(a=2), [])
    assert work.first_steps == {} and work.start_from == dict(b='a', c='a')
    assert work.trials == ['a', 'b', 'c']


def test_finished_trials_are_not_repeated():
    keys = dict(a='x', b='x', c='x')
    work = plan_work(keys, dict(a=3, b=1, x=1), ['a'])
    assert work.trials == ['b', 'c']
    assert work.start_from == dict(c='a')
    nothing = plan_work(keys, dict(a=3, b=3, c=3), ['a', 'b', 'c'])
    assert (nothing.trials, nothing.first_steps) == ([], {})


@given(st.data())
def test_every_trial_gets_its_own_step_0(data):
    """Against brute force over keys, records and what is finished."""
    names = [f't{i}' for i in range(data.draw(st.integers(1, 6)))]
    keys = {n: data.draw(st.sampled_from([None, 'x', 'y'])) for n in names}
    steps = {n: data.draw(st.integers(0, 3)) for n in (*names, 'x', 'y')}
    finished = [n for n in names if steps[n] == 3]
    work = plan_work(keys, steps, finished)
    assert work.trials == [n for n in names if n not in finished]
    trained = [*work.first_steps]
    for name in work.trials:
        source = work.start_from.get(name)
        if keys[name] is None or steps[name]:
            assert source is None
        elif source is None:  # alone with its key
            trained.append(keys[name])
        else:
            assert keys.get(source, source) == keys[name]
            assert steps[source] > 0 or source in work.first_steps
    for key in ('x', 'y'):
        there = any(steps[n] and keys.get(n, n) == key
                    for n in (*names, key))
        needs = [n for n in work.trials if keys[n] == key and not steps[n]]
        assert trained.count(key) == int(bool(needs) and not there)


def trials_of(*methods, **options):
    return plan_trials(sweep(*methods, **options))


def test_a_method_may_borrow_step_0():
    trials = trials_of(method('a'), method('b', step_0='a'), seeds=(0, 1))
    keys = {t.name: f'{t.method.name}{t.seed}' for t in trials}
    found = borrow_first_steps(trials, keys)
    assert found == dict(a_seed0='a0', b_seed0='a0', a_seed1='a1',
                         b_seed1='a1')


def test_only_one_step_0_can_be_borrowed():
    trials = trials_of(method('a', {'lr': [1, 2]}), method('b', step_0='a'))
    same = {t.name: 'x' for t in trials}
    assert set(borrow_first_steps(trials, same).values()) == {'x'}
    numbers = itertools.count()
    other = {t.name: f'x{next(numbers)}' for t in trials}
    with pytest.raises(ConfigError, match='has 2 different ones'):
        borrow_first_steps(trials, other)
    with pytest.raises(ConfigError, match='has 0 different ones'):
        borrow_first_steps(trials, {**other, **dict.fromkeys(
            ['a_lr=1_seed0', 'a_lr=2_seed0'])})
