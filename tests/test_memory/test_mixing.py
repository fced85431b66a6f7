"""How an epoch mixes the samples of its step with the memory."""
import numpy as np
import pytest

from mmseg_spwc.memory import (
    drawing_probabilities,
    epoch_order,
    epoch_size,
    replayed_in,
)


def test_everything_is_seen_once_where_the_memory_is_appended():
    order = epoch_order(7, 3, 4, None, (0, 1))
    assert sorted(order) == list(range(10)) and epoch_size(7, 3, 4, None) == 10
    assert order.tolist() == epoch_order(7, 3, 4, None, (0, 1)).tolist()
    assert order.tolist() != epoch_order(7, 3, 4, None, (0, 2)).tolist()


@pytest.mark.parametrize(('new', 'kept', 'batch', 'share'), [
    (12, 5, 4, .5), (13, 3, 4, .5), (20, 40, 8, .25), (3, 2, 8, .5),
    (17, 1, 6, .4)])
def test_every_batch_has_its_share(new, kept, batch, share):
    order = epoch_order(new, kept, batch, share, (0, ))
    count = replayed_in(batch, share)
    assert len(order) == epoch_size(new, kept, batch, share)
    full = new // (batch - count)
    for block in order[:full * batch].reshape(full, batch):
        assert (block >= new).sum() == count
    # an epoch is one pass over the step, the last batch may be smaller
    assert sorted(order[order < new]) == list(range(new))
    assert len(order) - full * batch < batch
    seen = np.bincount(order[order >= new] - new, minlength=kept)
    assert seen.max() - seen.min() <= 1


def test_a_memory_that_is_empty_changes_the_number_of_nothing():
    assert sorted(epoch_order(9, 0, 4, .5, (0, ))) == list(range(9))
    assert epoch_size(9, 0, 4, .5) == 9


def test_a_share_that_rounds_to_nothing_is_refused():
    with pytest.raises(ValueError, match='larger batches'):
        replayed_in(4, .1)


def test_the_published_example_of_drawing():
    images = [{1}, {1}, {2}, {1, 2}]
    found = drawing_probabilities(images, {1: .5, 2: .5})
    assert found == pytest.approx([1 / 6, 1 / 6, 1 / 4, 5 / 12])
    assert drawing_probabilities(images, {1: 9., 2: 9.}) == \
        pytest.approx(found)


def test_equal_weights_draw_every_class_alike():
    images = [{1}] * 5 + [{2}] * 2 + [{3}]
    found = drawing_probabilities(images, dict.fromkeys(range(1, 9), .3))
    assert found == pytest.approx([1 / 15] * 5 + [1 / 6] * 2 + [1 / 3])


def test_where_nothing_has_a_weight_all_samples_are_alike():
    assert drawing_probabilities([{1}, {1}, {2}], {1: 0., 2: 0.}).tolist() == \
        [1 / 3] * 3
    # a unit whose samples were all dropped does not count
    assert drawing_probabilities([{1}], {1: 0., 2: 1.}).tolist() == [1.]
    assert len(drawing_probabilities([], {1: 1.})) == 0


def test_samples_are_drawn_by_their_probabilities():
    p = np.array([.7, .3, 0.])
    order = epoch_order(4000, 3, 4, .5, (1, ), p)
    drawn = np.bincount(order[order >= 4000] - 4000, minlength=3) / 4000
    assert drawn == pytest.approx(p, abs=4 * (.7 * .3 / 4000)**.5)
