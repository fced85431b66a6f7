import pytest

from mmseg_spwc.scenario import (
    SegmentationScenario,
    build_scenario,
    get_scenario,
)
from mmseg_spwc.scenario.catalogue import CATALOGUE

NAMED = {
    'voc': '''offline 19-1 15-5 15-1 10-1 10-5 5-3 5-1 5-5 2-2 2-1 19-1b
              15-1b 15-1w''',
    'ade': '''offline 100-50 100-10 100-5 50-50 100-50b 100-10b 50-50b
              100-50c 100-10c 50-50c''',
    'cityscapes': 'offline 10-9 14-5 13-6 13-1',
    'cityscapes_domain': 'offline 11-5 11-1 1-1',
    'shapes': 'offline 6-1 5-1 2-2',
}


@pytest.mark.parametrize('dataset', NAMED)
def test_known_names_build(dataset):
    entry = CATALOGUE['segmentation'][dataset]
    known = [*entry['names'], *entry.get('permuted', ())]
    assert set(NAMED[dataset].split()) <= set(known)
    for name in known:
        assert get_scenario(dataset, name).name == name


@pytest.mark.parametrize(('dataset', 'name', 'channels'), [
    ('voc', 'offline', [21]),
    ('voc', '19-1', [20, 1]),
    ('voc', '15-5', [16, 5]),
    ('voc', '15-1', [16] + [1] * 5),
    ('voc', '10-1', [11] + [1] * 10),
    ('voc', '10-5', [11, 5, 5]),
    ('voc', '5-3', [6] + [3] * 5),
    ('voc', '2-2', [3] + [2] * 9),
    ('ade', '100-50', [101, 50]),
    ('ade', '100-10', [101] + [10] * 5),
    ('ade', '100-5', [101] + [5] * 10),
    ('ade', '50-50', [51, 50, 50]),
    ('ade', '50-20', [51] + [20] * 5),
    ('cityscapes', '10-9', [11, 9]),
    ('cityscapes', '13-1', [14] + [1] * 6),
    ('cityscapes_domain', '11-5', [19, 0, 0]),
    ('cityscapes_domain', '1-1', [19] + [0] * 20),
    ('shapes', '6-1', [7, 1, 1, 1, 1]),
])
def test_published_sizes(dataset, name, channels):
    scenario = get_scenario(dataset, name)
    assert scenario.channels(scenario.num_steps - 1) == tuple(channels)


def test_natural_order():
    steps = get_scenario('voc', '10-1').steps
    assert steps[0] == tuple(range(1, 11))
    assert steps[1:] == tuple((c, ) for c in range(11, 21))
    assert get_scenario('ade', '50-50').steps[1] == tuple(range(51, 101))


def test_cityscapes_by_domain():
    scenario = get_scenario('cityscapes_domain', '11-5')
    assert [len(step) for step in scenario.steps] == [11, 5, 5]
    assert scenario.steps[1] == ('dusseldorf', 'hamburg', 'jena',
                                 'monchengladbach', 'stuttgart')
    assert scenario.num_classes == 19
    assert scenario.test_ratio == 0.2


@pytest.mark.parametrize(('dataset', 'alias', 'name'), [
    ('voc', '15-5s', '15-1'),
    ('voc', '10-5-5', '10-5'),
    ('voc', '15-5s_b', '15-1b'),
    ('voc', '15-5s_w', '15-1w'),
    ('ade', '50', '50-50'),
    ('ade', '50b', '50-50b'),
    ('ade', '50c', '50-50c'),
])
def test_aliases(dataset, alias, name):
    assert get_scenario(dataset, alias) == get_scenario(dataset, name)


def test_own_order_of_a_known_dataset():
    steps = [list(range(20, 5, -1)), [5, 4, 3], [1, 2]]
    scenario = get_scenario('voc', 'mine', steps=steps, future='ignore')
    assert scenario.name == 'mine'
    assert scenario.steps == tuple(map(tuple, steps))
    assert scenario.num_classes == 21
    assert scenario.future == 'ignore'
    assert get_scenario('voc', steps=steps).name == 'custom'


def test_own_dataset():
    scenario = get_scenario('camvid', steps=[[1, 2], [3]], num_classes=4)
    assert scenario == SegmentationScenario('camvid', 'custom', 'overlapped',
                                ((1, 2), (3, )), 4)
    weather = get_scenario(
        'acdc',
        steps=[['fog'], ['rain', 'snow']],
        num_classes=19,
        kind='domain',
        domain_pattern='^(fog|rain|snow)')
    assert weather.channels(1) == (19, 0)


def test_none_leaves_a_field_as_it_is():
    assert get_scenario(
        'voc', '10-1', steps=None, future=None) == get_scenario('voc', '10-1')


def test_build_scenario():
    cfg = {'dataset': 'voc', 'name': '15-5s', 'setting': 'disjoint'}
    assert build_scenario(cfg) == get_scenario('voc', '15-1', 'disjoint')
    for dataset in NAMED:
        scenario = get_scenario(dataset, NAMED[dataset].split()[-1])
        assert build_scenario(scenario.to_dict()) == scenario
    with pytest.raises(KeyError, match='dataset'):
        build_scenario({'name': '10-1'})


@pytest.mark.parametrize(('args', 'message'), [
    (('vox', '10-1'), "Did you mean 'voc'.*steps and num_classes"),
    (('voc', '15-3'), 'Known: offline, 19-1.*use up all 20'),
    (('voc', '15-1z'), "Did you mean '15-1'"),
    (('voc', ), 'Unknown scenario of voc None'),
    (('voc', 'ofline'), "Did you mean 'offline'"),
    (('cityscapes_domain', '10-9'), 'use up all 21'),
    (('voc', '10-1', 'disjunct'), "Did you mean 'disjoint'"),
])
def test_unknown_names(args, message):
    with pytest.raises(ValueError, match=message):
        get_scenario(*args)


def test_unknown_keyword_and_dataset():
    with pytest.raises(TypeError, match="Did you mean 'future'"):
        get_scenario('voc', '10-1', futures='ignore')
    with pytest.raises(ValueError, match='steps and num_classes'):
        get_scenario('camvid', steps=[[1, 2], [3]])


def test_frequent_classes_last():
    scenario = get_scenario('voc', '15-1', order='frequent-last')
    assert scenario.name == '15-1-frequent-last'
    assert scenario.steps[1:] == ((17, ), (13, ), (15, ), (8, ), (12, ))
    assert sorted(sum(scenario.steps, ())) == list(range(1, 21))
    assert build_scenario(scenario.to_dict()) == scenario
    assert get_scenario('voc', '10-5', order='frequent-last').steps[1] == (
        16, 18, 7, 9, 10)
    natural = get_scenario('voc', '15-1', order='natural')
    assert natural == get_scenario('voc', '15-1')
    assert natural.base_hash != scenario.base_hash


@pytest.mark.parametrize(('name', 'fields', 'message'), [
    ('15-1', dict(order='frequent'), "Did you mean 'frequent-last'"),
    ('15-1', dict(order='random'), 'Known: natural, frequent-last'),
    ('15-1b', dict(order='natural'), "'15-1b', which is an order already"),
    (None, dict(order='natural', steps=[[1], [2]]), 'beside steps'),
])
def test_orders_that_do_not_fit(name, fields, message):
    with pytest.raises(ValueError, match=message):
        get_scenario('voc', name, **fields)
