"""Steps with names and data of their own."""
import json

import numpy as np
import pytest

from mmseg_spwc.scenario import (
    build_scenario,
    changed_facts,
    hold_out,
    select_heldout,
    select_test,
    select_train,
)

ROAD = dict(classes=['road', 'car'])
POLE = dict(classes=['pole'], data=dict(
    train=dict(ann_file='a'), test=dict(ann_file='b'),
    labels=dict(pole=[7, 8], car=3, background=0, void=9)))


def street(*steps, **options):
    return build_scenario(dict(dataset='street', steps=steps, **options))


def tasks(*steps, **options):
    return street(*steps, problem='classification', **options)


def through_json(scenario):
    return build_scenario(json.loads(json.dumps(scenario.to_dict())))


def test_names_get_ids_in_the_order_of_learning():
    scenario = street(ROAD, POLE)
    assert scenario.steps == ((1, 2), (3, ))
    assert scenario.num_classes == 4
    assert scenario.class_names((), 1) == ('background', 'road', 'car',
                                           'pole')
    assert tasks(ROAD, POLE).steps == ((0, 1), (2, ))
    assert tasks(ROAD, POLE).class_names((), 1) == ('road', 'car', 'pole')


@pytest.mark.parametrize('make', [street, tasks])
def test_it_survives_json(make):
    scenario = make(ROAD, POLE, dict(classes=['tree'], data=None))
    again = through_json(scenario)
    assert again == scenario
    assert again.hash == scenario.hash
    assert again.step_facts(1) == scenario.step_facts(1)


def test_named_classes_after_those_of_a_known_dataset():
    plain = build_scenario(dict(dataset='voc', name='15-5'))
    scenario = build_scenario(dict(
        dataset='voc', steps=[*plain.steps, dict(
            classes=['pole'], data=dict(
                train=dict(a=1), labels=dict(pole=1)))]))
    assert scenario.steps[2] == (21, )
    assert scenario.num_classes == 22
    assert np.array_equal(scenario.train_table(1), plain.train_table(1))
    assert scenario.train_table(2, scenario.label_map(2), 2)[1] == 21
    assert not changed_facts(plain.step_facts(1), scenario.step_facts(1))


def test_tables_of_a_steps_own_labels():
    scenario = street(ROAD, POLE)
    labels = scenario.label_map(1)
    # 3 is a car, an old class; 7 and 8 are poles; 9 and 255 are void
    expected = np.full(256, 255)
    expected[[0, 3]], expected[[7, 8]] = 0, 3
    assert scenario.train_table(1, labels, 1).tolist() == expected.tolist()
    expected[3] = 2
    assert scenario.test_table(1, labels).tolist() == expected.tolist()
    labelled = street(ROAD, dict(POLE, data=dict(POLE['data'],
                                                 old='labelled')))
    assert labelled.train_table(1, labels, 1).tolist() == expected.tolist()
    assert scenario.unlabelled(1, labels) == (1, )
    assert labels.wrong([0, 3, 4, 7, 9, 255]) == [4]


def test_all_other_values_may_be_background():
    own = dict(train=dict(a=1), labels=dict(pole=255, background='others'))
    scenario = street(ROAD, dict(classes=['pole'], data=own))
    labels = scenario.label_map(1)
    table = scenario.train_table(1, labels, 1)
    assert table[255] == 3
    assert not table[:255].any()
    assert labels.wrong([0, 99, 255]) == []
    assert street(ROAD, dict(classes=['pole'], data=dict(
        train=dict(a=1), labels=dict(pole=7)))).label_map(1).ids == {0: 0,
                                                                     7: 3}
    assert labels.wrong([263]) == [263]  # 7, cut to a byte


def test_names_of_the_dataset_say_which_value_is_meant():
    scenario = street(ROAD, dict(classes=['sky']))
    labels = scenario.label_map(None, ('car', 'tree', 'road', 'sky'))
    assert scenario.train_table(0, labels)[:5].tolist() == [2, 0, 1, 0, 255]
    assert scenario.test_table(1, labels)[:5].tolist() == [2, 0, 1, 3, 255]
    assert labels.foreground() == {0, 1, 2, 3}


def index(seed, count, *values):
    rng = np.random.default_rng(seed)
    return {f'{seed}_{i}': {0, *rng.choice(values, 2).tolist()}
            for i in range(count)}


def test_images_are_chosen_by_the_labels_of_their_data():
    scenario = street(ROAD, POLE)
    labels = scenario.label_map(1)
    found = index(0, 40, 0, 3, 7, 8)
    held = hold_out(found, scenario, 0.2, 0, labels)
    assert set(select_train(found, scenario, 1, held, labels)) == {
        n for n, v in found.items() if v & {7, 8}} - held
    assert set(select_test(found, scenario, 1, labels)) == {
        n for n, v in found.items() if v & {3, 7, 8}}
    assert set(select_heldout(held, found, scenario, 1, labels)) == held


ADDED = [
    dict(classes=['tree']),
    dict(classes=['tree'], data=dict(train=dict(a=1),
                                     labels=dict(tree=1, pole=2))),
    dict(classes=['tree'], data=None),
]


@pytest.mark.parametrize('added', ADDED)
@pytest.mark.parametrize('make', [street, tasks])
def test_a_step_at_the_end_changes_no_earlier_one(make, added):
    before, after = make(ROAD, POLE), make(ROAD, POLE, added)
    names = ('tree', 'road', 'car')
    assert before.hash != after.hash
    assert before.base_hash == after.base_hash
    for step in range(2):
        old, new = before.step_facts(step), after.step_facts(step)
        assert json.loads(json.dumps(old)) == new
        assert not changed_facts(old, new)
        assert before.channels(step) == after.channels(step)
        assert before.class_names((), step) == after.class_names((), step)
    if make is tasks:
        return
    for source in (None, 1):
        labels = [s.label_map(source, names) for s in (before, after)]
        found = index(3, 60, *labels[0].ids)
        for step in range(2):
            tables = [s.train_table(step, x, source)
                      for s, x in zip((before, after), labels, strict=True)]
            assert np.array_equal(*tables)
        slices = [hold_out(found, s, .2, 0, x)
                  for s, x in zip((before, after), labels, strict=True)]
        assert slices[0] == slices[1]


def test_what_changes_is_named():
    before = street(ROAD, POLE)
    after = street(ROAD, dict(POLE, data=dict(
        POLE['data'], labels=dict(pole=6, background='others'))))
    assert list(changed_facts(before.step_facts(1),
                              after.step_facts(1))) == ['labels']
    renamed = street(dict(classes=['road', 'bus']), POLE | dict(
        data=dict(train=dict(a=1), labels=dict(pole=7))))
    assert changed_facts(before.step_facts(0), renamed.step_facts(0)) == dict(
        classes=(['road', 'car'], ['road', 'bus']))


def test_data_that_are_gone_are_no_change():
    before, after = street(ROAD, POLE), street(
        ROAD | dict(data=None), POLE | dict(data=None))
    for step in range(2):
        assert not changed_facts(before.step_facts(step),
                                 after.step_facts(step))
    assert after.sources('heldout', 1) == {}
    assert before.sources('heldout', 1) == {None: [0], 1: [1]}
    assert before.sources('train', 1) == {1: [1]}


def test_an_own_order_of_a_dataset_goes_on():
    """A scenario by ids that leaves classes out takes one of them in."""
    steps = [[1, 2], [3]]
    before, after = (build_scenario(dict(
        dataset='toy', num_classes=6, steps=s, partial=True))
        for s in (steps, [*steps, [4]]))
    found = index(5, 80, 0, 1, 2, 3, 4, 5)
    assert hold_out(found, before) == hold_out(found, after)
    for step in range(2):
        assert not changed_facts(before.step_facts(step),
                                 after.step_facts(step))
    before, after = (build_scenario(dict(
        dataset='toy', num_classes=6, steps=s, partial=True,
        setting='disjoint')) for s in (steps, [*steps, [4]]))
    assert changed_facts(before.step_facts(1), after.step_facts(1)) == dict(
        later=([], [4]))
