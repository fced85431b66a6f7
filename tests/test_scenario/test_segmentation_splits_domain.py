"""Image selection where domains arrive and classes stay."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmseg_spwc.scenario import (
    SegmentationScenario,
    build_scenario,
    domain_of,
    hold_out,
    select_heldout,
    select_test,
    select_train,
)
from mmseg_spwc.scenario import segmentation_splits as splits

CITIES = SegmentationScenario(
    'streets',
    'mine',
    'overlapped', (('aa', ), ('bb', 'cc')),
    19,
    kind='domain',
    domain_pattern=r'^([a-z]+)_',
    test_ratio=0.2)


def streets(sizes):
    return {
        f'val/{city}/{city}_{i:03d}.png': {0, 1}
        for city, size in sizes.items() for i in range(size)
    }


@settings(deadline=None, max_examples=30)
@given(
    st.fixed_dictionaries({
        city: st.integers(3, 30)
        for city in ('aa', 'bb', 'cc', 'never')
    }))
def test_domains_never_leak(sizes):
    index = streets(sizes)
    test = splits.test_part(index, CITIES)
    held = hold_out(index, CITIES, 0.1)
    trained = {
        name
        for t in range(2) for name in select_train(index, CITIES, t, held)
    }
    assert not trained & (test | held)
    assert not held & test
    for t, seen in enumerate((['aa'], ['aa', 'bb', 'cc'])):
        of_seen = {n for n in index if domain_of(n, CITIES) in seen}
        assert select_test(index, CITIES, t) == sorted(test & of_seen)
        assert select_heldout(held, index, CITIES,
                              t) == sorted(held & of_seen)
    for city, size in sizes.items():
        of_city = {n for n in test if domain_of(n, CITIES) == city}
        assert len(of_city) == max(1, round(0.2 * size))
    used = trained | test | held
    assert used >= {n for n in index if '/never_' not in n}
    assert not any('/never/' in n for n in trained | held)


def test_domains_with_a_test_set_of_their_own():
    scenario = build_scenario(
        {**CITIES.to_dict(), 'test_ratio': 0})
    index = streets({'aa': 3, 'bb': 2, 'cc': 1})
    assert splits.test_part(index, scenario) == frozenset()
    assert len(select_train(index, scenario, 0)) == 3
    assert select_test(index, scenario, 1) == sorted(index)


def test_seed_changes_the_test_part():
    index = streets({'aa': 50})
    first, second = (splits.test_part(index, CITIES, s) for s in (0, 1))
    assert len(first) == len(second) == 10
    assert first != second


def test_image_without_a_domain():
    with pytest.raises(ValueError, match='No domain in the image name'):
        select_train({'0001.png': {0}}, CITIES, 0)
