"""Growing histories hold what MMEngine's hold, without copying it."""
import copy
import pickle

import numpy as np
import pytest
from mmengine.logging import HistoryBuffer, MessageHub

from mmseg_spwc.engine.histories import (
    GrowingHistory,
    with_growing_histories,
)


def assert_same(ours, theirs):
    for own, expected in zip(ours.data, theirs.data, strict=True):
        np.testing.assert_array_equal(own, expected)
    for window in (None, 1, 7):
        assert ours.mean(window) == theirs.mean(window)
        assert ours.max(window) == theirs.max(window)
    assert ours.current() == theirs.current()


@pytest.mark.parametrize('max_length', [1000000, 50, 64, 1])
def test_the_values_of_a_history_buffer(max_length):
    kinds = GrowingHistory, HistoryBuffer
    both = [kind([1], [2], max_length) for kind in kinds]
    for number in range(300):
        for history in both:
            history.update(number / 7, 1 + number % 3)
        assert_same(*both)


@pytest.mark.parametrize('again', [
    copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_goes_on_by_itself(again):
    first = GrowingHistory([1., 2.], [1, 1])
    second = again(first)
    first.update(3.)
    second.update(4.)
    assert first.data[0].tolist() == [1, 2, 3]
    assert second.data[0].tolist() == [1, 2, 4]
    assert first.data[1].dtype == second.data[1].dtype == np.int64


def test_data_taken_earlier_stay_as_they_were():
    history = GrowingHistory([1.], [1])
    taken = history.data[0]
    for value in range(200):
        history.update(value)
    assert taken.tolist() == [1]


def test_values_are_seldom_copied():
    history, rooms = GrowingHistory(), set()
    kept = []  # else a room could get the address of one let go
    for value in range(10000):
        history.update(value)
        kept.append(history.data[0].base)
        rooms.add(id(kept[-1]))
    assert len(rooms) <= 10


def test_a_wrong_type_is_refused_as_by_mmengine():
    history = GrowingHistory()
    with pytest.raises(TypeError, match='log_val must be int or float'):
        history.update('1')
    assert len(history.data[0]) == 0


def test_a_hub_keeps_growing_histories():
    hub = with_growing_histories(MessageHub('history'))
    hub.update_scalar('loss', 1.)
    hub.update_scalar('loss', 3.)
    assert type(hub.get_scalar('loss')) is GrowingHistory
    assert hub.get_scalar('loss').mean() == 2

    resumed = with_growing_histories(MessageHub('resumed'))
    state = hub.state_dict()
    state['log_scalars']['loss'] = HistoryBuffer([1., 3.], [1, 1])
    resumed.load_state_dict(state)
    resumed.update_scalar('loss', 5.)
    assert type(resumed.get_scalar('loss')) is GrowingHistory
    assert resumed.get_scalar('loss').data[0].tolist() == [1, 3, 5]
