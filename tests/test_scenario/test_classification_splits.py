"""The held-out share of every class."""
import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmseg_spwc.scenario import split_digest, stratified_split


def test_exact_for_500_images_a_class():
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(9), 500))
    train, held = stratified_split(labels, 0.2, seed=0)
    assert np.bincount(labels[train]).tolist() == [400] * 9
    assert np.bincount(labels[held]).tolist() == [100] * 9


def test_total_is_exact_where_classes_are_uneven():
    # the ten classes of MNIST's first 50,000 images
    sizes = [4932, 5678, 4968, 5101, 4859, 4506, 4951, 5175, 4842, 4988]
    labels = np.repeat(np.arange(10), sizes)
    train, held = stratified_split(labels, 0.2, seed=3)
    assert (len(train), len(held)) == (40000, 10000)
    shares = np.bincount(labels[held]) - 0.2 * np.array(sizes)
    assert np.abs(shares).max() < 1


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=60),
    st.floats(0.01, 0.99), st.integers(0, 9))
def test_both_sides_of_every_class(labels, ratio, seed):
    labels = np.array(labels)
    train, held = stratified_split(labels, ratio, seed)
    assert sorted([*train, *held]) == list(range(len(labels)))
    assert train.tolist() == sorted(train)
    assert held.tolist() == sorted(held)
    for c in set(labels.tolist()):
        size = (labels == c).sum()
        drawn = (labels[held] == c).sum()
        if size == 1:
            assert drawn == 0
        else:
            assert 1 <= drawn <= size - 1
            assert abs(drawn - ratio * size) <= 1


def test_seeds_and_global_state():
    labels = np.repeat(np.arange(3), 40)
    first = stratified_split(labels, 0.25, 0)[1]
    np.random.seed(5)
    assert np.array_equal(first, stratified_split(labels, 0.25, 0)[1])
    assert not np.array_equal(first, stratified_split(labels, 0.25, 1)[1])
    # classes are not drawn alike
    assert not np.array_equal(first[:10], first[10:20] - 40)


def test_a_class_does_not_depend_on_others():
    labels = np.repeat([0, 1], 50)
    relabelled = np.repeat([0, 3], 50)
    both, other = (stratified_split(x, 0.2, 0)[1] for x in (labels,
                                                            relabelled))
    assert np.array_equal(both[both < 50], other[other < 50])
    assert not np.array_equal(both, other)


def test_no_ratio_and_wrong_ratio():
    train, held = stratified_split(np.array([0, 0, 1]), 0, 0)
    assert (train.tolist(), held.tolist()) == ([0, 1, 2], [])
    for ratio in (1, -0.1, float('nan')):
        with pytest.raises(ValueError, match='below 1'):
            stratified_split(np.array([0, 0]), ratio, 0)


def test_digest():
    text = bytes([1] + [0] * 7 + [0, 1] + [0] * 6)
    expected = hashlib.sha256(text).hexdigest()
    assert split_digest(np.array([1, 256])) == expected
    assert split_digest(np.array([1, 256], dtype=np.int32)) == expected
    assert split_digest(np.array([256, 1])) != expected
