import pytest

from mmseg_spwc.scenario import get_scenario
from mmseg_spwc.scenario.catalogue import CATALOGUE, cut, parse_ids


def permuted(dataset):
    """Steps of the names that are an order themselves."""
    return {name: get_scenario(dataset, name).steps
            for name in CATALOGUE['segmentation'][dataset]['permuted']}


def test_parse_ids_keeps_the_order_written():
    assert parse_ids('9,1,3-5,2') == (9, 1, 3, 4, 5, 2)
    assert parse_ids('7') == (7, )


@pytest.mark.parametrize(('name', 'sizes'), [
    ('offline', [7]),
    ('3-2', [3, 2, 2]),
    ('6-1', [6, 1]),
    ('1-1', [1] * 7),
])
def test_natural_steps(name, sizes):
    steps = cut('abcdefg', name, 'groups')
    assert [len(step) for step in steps] == sizes
    assert [c for step in steps for c in step] == list('abcdefg')


@pytest.mark.parametrize('name', [
    '3-3', '7-1', '8-1', '0-1', '3-0', '3', '3-', '-3', 'a-b', '3-2-2', '3-2b'
])
def test_names_that_do_not_fit(name):
    assert cut('abcdefg', name, 'groups') is None


def test_permuted_voc_rows_are_permutations():
    rows = permuted('voc')
    assert len(rows) == 1 + 22
    for name, steps in rows.items():
        flat = [c for step in steps for c in step]
        assert sorted(flat) == list(range(1, 21)), name
    single = [s for name, s in rows.items() if name.startswith('15-1')]
    assert {tuple(map(len, s)) for s in single} == {(15, 1, 1, 1, 1, 1)}
    assert len(set(single)) == 22


def test_published_voc_orders():
    rows = permuted('voc')
    assert rows['15-1b'] == ((12, 9, 20, 7, 15, 8, 14, 16, 5, 19, 4, 1, 13, 2,
                              11), (17, ), (3, ), (6, ), (18, ), (10, ))
    assert rows['15-1w'][1:] == ((3, ), (15, ), (6, ), (5, ), (17, ))
    assert rows['19-1b'][1] == (5, )
    assert rows['19-1b'][0] == tuple(c for c in range(1, 21) if c != 5)


def test_permuted_ade_lists_are_disjoint_and_cover():
    sizes = {
        '100-50': [100, 50],
        '100-10': [100, 10, 10, 10, 10, 10],
        '50-50': [50, 50, 50]
    }
    rows = permuted('ade')
    assert set(rows) == {name + letter for name in sizes for letter in 'bc'}
    for name, steps in rows.items():
        flat = [c for step in steps for c in step]
        assert sorted(flat) == list(range(1, 151)), name
        assert [len(step) for step in steps] == sizes[name[:-1]], name


@pytest.mark.parametrize('letter', 'bc')
def test_ade_orders_agree_with_each_other(letter):
    rows = permuted('ade')
    base, last = map(set, rows['100-50' + letter])
    first, second, third = map(set, rows['50-50' + letter])
    tens = rows['100-10' + letter]
    assert first | second == base
    assert third == last
    assert set(tens[0]) == base
    assert set().union(*tens[1:]) == last


def test_cities():
    cities = get_scenario('cityscapes_domain', 'offline').steps[0]
    assert len(set(cities)) == 21
    assert cities[:2] == ('aachen', 'bremen')
    assert cities[-3:] == ('frankfurt', 'lindau', 'munster')


@pytest.mark.parametrize(('name', 'rule', 'steps'), [
    ('2x2', 'split', ((3, 1), (0, 2))), ('4x1', 'split', ((3, ), (1, ), (0, ),
                                                         (2, ))),
    ('1x4', 'split', ((3, 1, 0, 2), )), ('2x3', 'split', None),
    ('0x4', 'split', None), ('2-2', 'split', None), ('2', 'split', None),
    ('2', 'permuted', (('p0', ), ('p1', ))), ('0', 'permuted', None),
    ('10001', 'permuted', None), ('2x2', 'groups', None),
])
def test_cut_by_other_rules(name, rule, steps):
    assert cut((3, 1, 0, 2), name, rule) == steps
