"""Image selection against brute force, on random indices."""
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmseg_spwc.scenario import (
    SETTINGS,
    SegmentationScenario,
    build_scenario,
    get_scenario,
    hold_out,
    select_heldout,
    select_test,
    select_train,
)

NUM_CLASSES = 7  # ids 0 to 6


@st.composite
def indices(draw):
    labels = st.frozensets(
        st.sampled_from([*range(NUM_CLASSES), 255]), max_size=4)
    return draw(
        st.dictionaries(
            st.integers(0, 999).map('img_{:03d}'.format), labels,
            max_size=40))


@st.composite
def scenarios(draw, setting=None):
    order = draw(st.permutations(range(1, NUM_CLASSES)))
    cuts = sorted(draw(st.sets(st.integers(1, 5), max_size=4)))
    bounds = [0, *cuts, len(order)]
    steps = [order[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]
    setting = setting or draw(st.sampled_from(SETTINGS))
    return SegmentationScenario('toy', 'mine', setting, steps, NUM_CLASSES)


def with_setting(scenario, setting):
    return build_scenario(
        {**scenario.to_dict(), 'setting': setting})


def train_lists(index, scenario, heldout=()):
    """Lists of all steps; [] where select_train refuses an empty step."""
    lists = []
    for t in range(scenario.num_steps):
        try:
            lists.append(select_train(index, scenario, t, heldout))
        except ValueError as error:
            assert f'No training image for step {t} ' in str(error)
            lists.append([])
    return lists


def slow_train_lists(index, scenario):
    """The rules of each setting, read out one image at a time."""
    steps = [set(step) for step in scenario.steps]
    candidates = [
        sum(1 for labels in index.values() if labels & step) for step in steps
    ]
    lists = [[] for _ in steps]
    for name in sorted(index):
        present = [t for t, step in enumerate(steps) if index[name] & step]
        if not present:
            continue
        rarest = present[0]
        for t in present:
            if candidates[t] < candidates[rarest]:
                rarest = t
        home = {
            'overlapped': present,
            'disjoint': present[-1:],
            'sequential': present[-1:],
            'partitioned': [rarest]
        }[scenario.setting]
        for t in home:
            lists[t].append(name)
    return lists


@settings(deadline=None, max_examples=150)
@given(indices(), scenarios())
def test_train_lists_equal_brute_force(index, scenario):
    assert train_lists(index, scenario) == slow_train_lists(index, scenario)


@settings(deadline=None, max_examples=50)
@given(indices(), scenarios())
def test_partition_and_containment(index, scenario):
    with_class = sorted(
        name for name, labels in index.items() if labels - {0, 255})
    lists = {
        setting: train_lists(index, with_setting(scenario, setting))
        for setting in SETTINGS
    }
    for setting in ('disjoint', 'sequential', 'partitioned'):
        assert sorted(sum(lists[setting], [])) == with_class
        for part, whole in zip(
                lists[setting], lists['overlapped'], strict=True):
            assert set(part) <= set(whole)
    assert sorted(set(sum(lists['overlapped'], []))) == with_class
    assert lists['disjoint'][-1] == lists['overlapped'][-1]


@settings(deadline=None, max_examples=50)
@given(indices(), scenarios())
def test_test_list_is_the_union_of_val_lists(index, scenario):
    union = set()
    for t in range(scenario.num_steps):
        new = set(scenario.steps[t])
        union |= {name for name, labels in index.items() if labels & new}
        assert select_test(index, scenario, t) == sorted(union)


@settings(deadline=None, max_examples=100)
@given(indices(), scenarios(), st.floats(0.01, 0.99), st.integers(0, 3))
def test_hold_out(index, scenario, ratio, seed):
    held = hold_out(index, scenario, ratio, seed)
    shuffled = dict(sorted(index.items(), reverse=True))
    assert hold_out(shuffled, scenario, ratio, seed) == held

    count = dict.fromkeys(range(1, NUM_CLASSES), 0)
    for labels in index.values():
        for c in labels - {0, 255}:
            count[c] += 1
    strata = {}
    for name, labels in index.items():
        if labels - {0, 255}:
            rarest = min(labels - {0, 255}, key=lambda c: (count[c], c))
            strata.setdefault(rarest, set()).add(name)
    assert held <= set().union(*strata.values())
    for names in strata.values():
        taken = len(names & held)
        assert taken <= max(1, ratio * len(names) + 0.5)
        assert len(names) == 1 or 1 <= taken < len(names)

    for t, names in enumerate(train_lists(index, scenario, held)):
        everything = slow_train_lists(index, scenario)[t]
        assert names == [name for name in everything if name not in held]
        relevant = set(scenario.old_classes(t) + scenario.new_classes(t))
        assert select_heldout(held, index, scenario, t) == sorted(
            name for name in held if index[name] & relevant)


def test_hold_out_ratio_and_seed():
    index = {f'{c}_{i}': {0, c} for c in range(1, 7) for i in range(40)}
    scenario = SegmentationScenario('toy', 'mine', 'overlapped',
                        ((1, 2, 3), (4, 5, 6)), NUM_CLASSES)
    held = hold_out(index, scenario)
    for c in range(1, 7):
        assert sum(name.startswith(f'{c}_') for name in held) == 4
    assert hold_out(index, scenario, seed=1) != held
    assert hold_out(index, scenario, ratio=0) == frozenset()
    disjoint = with_setting(scenario, 'disjoint')
    assert hold_out(index, disjoint) == held
    for ratio in (-0.1, 1, 1.5, float('nan')):
        with pytest.raises(ValueError, match='from 0 to below 1'):
            hold_out(index, scenario, ratio)


def test_small_strata_keep_an_image_to_learn_from():
    index = {'one': {0, 1}, 'a2': {0, 2}, 'b2': {0, 2},
             **{f'{i}3': {0, 3} for i in range(5)}}
    scenario = SegmentationScenario('toy', 'mine', 'overlapped',
                                    ((1, 2), (3, )), 4)
    held = hold_out(index, scenario, ratio=0.99)
    taken = [sum(c in labels for n, labels in index.items() if n in held)
             for c in (1, 2, 3)]
    assert taken == [0, 1, 4]


def test_scenarios_of_one_base_hold_out_the_same():
    rng = random.Random(0)
    index = {
        f'img{i}': set(rng.sample(range(21), 3))
        for i in range(500)
    }
    one, five = (get_scenario('voc', name) for name in ('10-1', '10-5'))
    assert one.base_hash == five.base_hash
    assert hold_out(index, one) == hold_out(index, five)


def test_label_offset_reaches_selection():
    scenario = get_scenario('cityscapes', '10-9')
    index = {'a': {0, 255}, 'b': {9}, 'c': {10}, 'd': {18, 3}, 'e': {255}}
    assert select_train(index, scenario, 0) == ['a', 'b', 'd']
    assert select_train(index, scenario, 1) == ['c', 'd']
    assert select_test(index, scenario, 0) == ['a', 'b', 'd']


def test_class_in_no_step_does_not_bar_an_image():
    scenario = SegmentationScenario(
        'toy', 'mine', 'disjoint', ((1, ), (2, )), 4, partial=True)
    index = {'a': {1, 3}, 'b': {2, 1}, 'c': {3}}
    assert select_train(index, scenario, 0) == ['a']
    assert select_train(index, scenario, 1) == ['b']
    assert select_test(index, scenario, 1) == ['a', 'b']


def test_sizes_of_steps_and_an_empty_one():
    scenario = get_scenario('shapes', '5-1', 'disjoint')
    index = {f'img{c}': {0, c, 255} for c in range(1, 11)}
    sizes = [len(select_train(index, scenario, t)) for t in range(6)]
    assert sizes == [5, 1, 1, 1, 1, 1]
    with pytest.raises(ValueError, match=r'No .* step 3 \(class 8\)'):
        select_train(index, scenario, 3, heldout={'img8'})
    with pytest.raises(ValueError, match='imgX holds the label 11'):
        scenario.check_labels({11}, 'imgX')


def test_wrong_step_and_wrong_heldout():
    scenario = get_scenario('shapes', '5-1')
    for select in (select_train, select_test):
        with pytest.raises(IndexError, match='from 0 to 5'):
            select({'a': {1}}, scenario, 6)
    with pytest.raises(ValueError, match='b is not in the index'):
        select_heldout({'b'}, {'a': {1}}, scenario, 0)


@pytest.mark.parametrize('setting', SETTINGS)
def test_selection_is_fast(setting):
    rng = random.Random(0)
    index = {
        f'ADE_train_{i:08d}': frozenset(rng.sample(range(151), 8))
        for i in range(20_000)
    }
    scenario = get_scenario('ade', '100-5', setting)
    start = time.process_time()
    for t in range(scenario.num_steps):
        select_train(index, scenario, t)
    assert time.process_time() - start < 2  # 0.1 to 0.5 s when idle
