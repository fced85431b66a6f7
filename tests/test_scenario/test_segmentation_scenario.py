import json

import numpy as np
import pytest

from mmseg_spwc.scenario import (
    SETTINGS,
    SegmentationScenario,
    build_scenario,
    get_scenario,
)
from mmseg_spwc.scenario.catalogue import CATALOGUE

BY_CLASS = [(dataset, name)
            for dataset, entry in CATALOGUE['segmentation'].items()
            if dataset != 'cityscapes_domain'
            for name in (*entry['names'], *entry.get('permuted', ()))]
PERMUTED = ((5, 2), (4, ), (1, 3))


def toy(setting='overlapped', steps=PERMUTED, **kw):
    return SegmentationScenario('toy', 'mine', setting, steps, 6, **kw)


def slow_label(scenario, t, raw, test):
    """Channel of one raw label, straight from the definition."""
    if raw == 255 or raw + scenario.label_offset >= scenario.num_classes:
        return 255
    order = [0]
    for step in scenario.steps[:t + 1]:
        order += list(step)
    c = raw + scenario.label_offset
    if test:
        future = any(c in step for step in scenario.steps[t + 1:])
        unseen = 255 if future and scenario.future == 'ignore' else 0
        return order.index(c) if c in order else unseen
    if scenario.setting == 'sequential':
        return order.index(c) if c in order else 0
    return order.index(c) if c in scenario.steps[t] else 0


@pytest.mark.parametrize('setting', SETTINGS)
@pytest.mark.parametrize(('dataset', 'name'), BY_CLASS)
def test_tables_of_every_named_scenario(dataset, name, setting):
    scenario = get_scenario(dataset, name, setting)
    for t in {0, scenario.num_steps // 2, scenario.num_steps - 1}:
        train, test = scenario.train_table(t), scenario.test_table(t)
        assert train.dtype == test.dtype == np.uint8
        assert train[255] == test[255] == 255
        for raw in range(256):
            assert train[raw] == slow_label(scenario, t, raw, test=False)
            assert test[raw] == slow_label(scenario, t, raw, test=True)
        raw = [c - scenario.label_offset for c in scenario.seen_classes(t)]
        seen = test[raw[1:]].tolist()  # every seen class has its channel
        assert seen == list(range(1, scenario.num_channels(t)))
        later = {c for step in scenario.steps[t + 1:] for c in step}
        assert all(train[c - scenario.label_offset] == 0 for c in later)


@pytest.mark.parametrize('name', CATALOGUE['segmentation'][
    'cityscapes_domain']['names'])
def test_domain_tables_never_change(name):
    scenario = get_scenario('cityscapes_domain', name)
    identity = np.where(np.arange(256) < 19, np.arange(256), 255)
    for t in range(scenario.num_steps):
        np.testing.assert_array_equal(scenario.train_table(t), identity)
        np.testing.assert_array_equal(scenario.test_table(t), identity)


def test_tables_by_hand():
    scenario = toy(future='ignore', void='background')
    labels = [0, 1, 2, 3, 4, 5, 6, 255]
    train = scenario.train_table(1)[labels].tolist()
    assert train == [0, 0, 0, 0, 3, 0, 255, 0]
    test = scenario.test_table(1)[labels].tolist()
    assert test == [0, 255, 2, 255, 3, 1, 255, 255]
    sequential = toy('sequential').train_table(1)[labels].tolist()
    assert sequential == [0, 0, 2, 0, 3, 1, 255, 255]


def test_tables_with_label_offset():
    scenario = toy(label_offset=1)
    labels = [0, 1, 2, 3, 4, 5, 255]
    assert scenario.train_table(0)[labels].tolist() == [
        0, 2, 0, 0, 1, 255, 255
    ]
    assert scenario.test_table(2)[labels].tolist() == [4, 2, 5, 3, 1, 255, 255]


def test_class_in_no_step_is_background():
    scenario = toy(steps=((5, 2), (4, )), partial=True, future='ignore')
    assert scenario.test_table(0)[[1, 3, 4]].tolist() == [0, 0, 255]
    assert scenario.train_table(0)[[1, 3, 4]].tolist() == [0, 0, 0]


def test_classes_and_channels():
    scenario = toy()
    assert scenario.num_steps == 3
    assert scenario.has_background
    assert scenario.new_classes(2) == (1, 3)
    assert scenario.old_classes(2) == (5, 2, 4)
    assert scenario.seen_classes(2) == (0, 5, 2, 4, 1, 3)
    assert scenario.channels(2) == (3, 1, 2)
    assert scenario.num_channels(1) == 4
    assert scenario.base_channels() == 3
    assert scenario.step_of_channel(2) == (0, 0, 0, 1, 2, 2)
    assert all(type(n) is int for n in scenario.channels(2))


def test_domain_classes_and_channels():
    scenario = get_scenario('cityscapes_domain', '11-5')
    assert not scenario.has_background
    assert scenario.channels(2) == (19, 0, 0)
    assert scenario.num_channels(2) == 19
    assert scenario.step_of_channel(2) == (0, ) * 19
    for t in range(3):
        assert scenario.seen_classes(t) == tuple(range(19))
    assert scenario.new_classes(1) == ()


def test_background_may_be_written_or_not():
    assert toy(steps=((0, 5, 2), (4, ), (1, 3))) == toy()


@pytest.mark.parametrize('t', [-1, 3])
@pytest.mark.parametrize('method', [
    'new_classes', 'old_classes', 'seen_classes', 'new_channels', 'channels',
    'num_channels', 'step_of_channel', 'train_table', 'test_table'
])
def test_step_out_of_range(method, t):
    with pytest.raises(IndexError, match='from 0 to 2'):
        getattr(toy(), method)(t)


def test_check_labels():
    voc = get_scenario('voc', '10-1')
    voc.check_labels({0, 20, 255}, 'a.png')
    voc.check_labels(np.array([0, 20, 255], dtype=np.uint8), 'a.png')
    with pytest.raises(ValueError, match='a.png.* 21, 254.*from 0 to 20'):
        voc.check_labels([3, 254, 21], 'a.png')
    with pytest.raises(ValueError, match='b.png.* 19.*from 0 to 18'):
        get_scenario('cityscapes', '10-9').check_labels([19], 'b.png')


def test_class_names_and_palette_follow_the_channels():
    names = ('bg', 'a', 'b', 'c', 'd', 'e')
    assert toy().class_names(names, 1) == ('bg', 'e', 'b', 'd')
    colours = [(i, i, i) for i in range(6)]
    assert toy().palette(colours, 0) == [[0, 0, 0], [5, 5, 5], [2, 2, 2]]


@pytest.mark.parametrize('offset', [0, 1])
def test_background_is_named_where_the_dataset_does_not(offset):
    scenario = toy(label_offset=offset)
    names = scenario.class_names(('a', 'b', 'c', 'd', 'e'), 1)
    assert names == ('background', 'e', 'b', 'd')
    colours = [(i, i, i) for i in range(1, 6)]
    assert scenario.palette(colours, 0) == [[0, 0, 0], [5, 5, 5], [2, 2, 2]]


def test_wrong_number_of_names():
    with pytest.raises(ValueError, match='Got 4 .* 6 class ids'):
        toy().class_names('abcd', 0)
    with pytest.raises(ValueError, match='Got 18 .* 19 class ids'):
        get_scenario('cityscapes_domain', '1-1').class_names('x' * 18, 0)


def test_dict_and_hash_round_trip():
    scenario = toy()
    data = json.loads(json.dumps(scenario.to_dict()))
    assert build_scenario(data) == scenario
    assert build_scenario(data).hash == scenario.hash
    listed = toy(steps=[np.array([5, 2]), [4], [1, 3]], test_ratio=0)
    assert listed == scenario
    assert listed.hash == scenario.hash
    assert len(scenario.hash) == 64
    assert hash(listed) == hash(scenario)


def test_hash_tells_scenarios_apart():
    variants = [
        toy(),
        toy('disjoint'),
        toy(future='ignore'),
        toy(void='background'),
        toy(label_offset=1),
        toy(steps=((2, 5), (4, ), (1, 3))),
        toy(steps=((5, 2, 4), (1, 3))),
    ]
    assert len({s.hash for s in variants}) == len(variants)
    assert variants[0].base_hash not in {s.base_hash for s in variants[1:]}


@pytest.mark.parametrize('setting', ['overlapped', 'disjoint', 'sequential'])
def test_scenarios_share_their_base(setting):
    ten_one = get_scenario('voc', '10-1', setting)
    assert ten_one.base_hash == get_scenario('voc', '10-5', setting).base_hash
    assert ten_one.hash != get_scenario('voc', '10-5', setting).hash
    other = get_scenario('voc', '15-5', setting)
    assert ten_one.base_hash != other.base_hash


def test_base_of_partitioned_depends_on_all_steps():
    ten_one = get_scenario('voc', '10-1', 'partitioned')
    ten_five = get_scenario('voc', '10-5', 'partitioned')
    assert ten_one.base_hash != ten_five.base_hash


def test_base_of_domains():
    bases = [
        get_scenario('cityscapes_domain', name).base_hash
        for name in ('11-5', '11-1', '1-1')
    ]
    assert bases[0] == bases[1] != bases[2]


def test_scenario_cannot_be_changed():
    with pytest.raises(AttributeError):
        toy().setting = 'disjoint'
