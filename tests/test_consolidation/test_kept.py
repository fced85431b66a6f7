"""A kept penalty is gone on from, and only while it holds."""
import os

import pytest
import torch
from quadratic_tasks import make_params, make_task

from mmseg_spwc.consolidation import (
    EMAImportance,
    QuadraticPenalty,
    StepStore,
    forms,
)
from mmseg_spwc.registry import build_part

ONLINE = dict(type='online', decay=.7)


class WatchedStore(StepStore):
    """Notes which steps are read."""
    read: list

    def load(self, step):
        self.read.append(step)
        return super().load(step)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(forms, 'EVERY', 3)
    store = WatchedStore(tmp_path)
    for step in range(8):
        store.save(step, *make_task(step))
    store.read = []
    return store


def build(store, weights, form='per_step', prepare=dict):
    store.read.clear()
    return build_part(form, 'form', object)(store, weights, prepare)


def even(count, weight=.5):
    return dict.fromkeys(range(count), weight)


@pytest.mark.parametrize('form', ['per_step', ONLINE])
def test_going_on_is_the_same_bit_for_bit(store, form):
    read = []
    for count in range(1, 9):
        penalty = build(store, even(count), form)
        read.append(store.read.copy())
    assert read == [[0], [0, 1], [0, 1, 2], [3], [3, 4], [3, 4, 5], [6],
                    [6, 7]]
    fresh = QuadraticPenalty()
    build_part(form, 'form', object).extend(fresh, store, even(8), dict)
    state, wanted = penalty.state_dict(), fresh.state_dict()
    assert state.pop('constant') == pytest.approx(
        wanted.pop('constant').item(), rel=1e-14)
    assert state.keys() == wanted.keys()
    assert all(torch.equal(state[key], wanted[key]) for key in state)
    assert penalty.value(make_params()) > 0


def test_the_newest_alone_is_read_alone(store):
    for count in (3, 4):
        build(store, even(count), 'last')
        assert store.read == [count - 1]


@pytest.fixture
def kept_store(store):
    build(store, even(3))
    assert (store.directory / 'penalty.safetensors').exists()
    assert store.steps() == list(range(8))  # it is not taken for a step
    build(store, even(5))
    assert store.read == [3, 4]
    return store


@pytest.mark.parametrize('weights', [
    even(5, .25), {**even(5), 1: .4}, {**even(5), 2: 0.}, even(2)])
def test_other_weights_are_not_taken_for_the_same(kept_store, weights):
    build(kept_store, weights)
    assert kept_store.read == [s for s, weight in weights.items() if weight]


def test_uneven_weights_are_not_kept(store):
    for _ in range(2):
        build(store, {0: 1., 1: 2., 2: 3.})
        assert store.read == [0, 1, 2]


def test_other_forms_are_not_taken_for_the_same(kept_store):
    build(kept_store, even(5), ONLINE)
    assert kept_store.read == [0, 1, 2, 3, 4]


def test_other_ways_to_prepare_are_not_taken_for_the_same(store):
    read = {}
    for eps in (1e-8, 1e-3):
        for count in (3, 4):
            build(store, even(count),
                  prepare=EMAImportance(eps=eps).prepare)
            read[eps, count] = store.read.copy()
    assert read == {(1e-8, 3): [0, 1, 2], (1e-8, 4): [3],
                    (1e-3, 3): [0, 1, 2], (1e-3, 4): [3]}


def test_other_files_are_not_taken_for_the_same(kept_store):
    state = os.stat(kept_store.save(1, *make_task(9)))
    os.utime(kept_store._path(1),
             ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    penalty = build(kept_store, even(5))
    assert kept_store.read == [0, 1, 2, 3, 4]
    fresh = QuadraticPenalty()
    for step in range(5):
        fresh.add(.5, *kept_store.load(step))
    assert torch.equal(penalty.value(make_params()),
                       fresh.value(make_params()))


def test_a_damaged_file_is_as_good_as_none(kept_store):
    path = kept_store.directory / 'penalty.safetensors'
    path.write_bytes(path.read_bytes()[:40])
    build(kept_store, even(5))
    assert kept_store.read == [0, 1, 2, 3, 4]
