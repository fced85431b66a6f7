"""Loss curves over the whole sequence."""
from made_records import segmentation

from mmseg_spwc.visualization.series import boundaries, sequence_curves


def test_iterations_count_on_and_steps_are_not_joined():
    record = segmentation(steps=3)  # 40 iterations per step, 8 points
    assert boundaries(record) == [40, 80, 120]
    curve = sequence_curves(record)['loss']
    assert curve.iterations[:8] == [5, 10, 15, 20, 25, 30, 35, 40]
    assert curve.values[8] is None and curve.iterations[9] == 45
    assert curve.steps[9] == 1
    values = [v for s in record.steps for v in s['curves']['losses']['loss']]
    assert [v for v in curve.values if v is not None] == values
    assert len(curve.iterations) == len(curve.values) == len(curve.steps)


def test_a_term_that_comes_later_starts_later():
    record = segmentation(steps=2)
    record.steps[1]['curves']['losses']['penalty'] = [0.5] * 8
    curve = sequence_curves(record)['penalty']
    assert curve.iterations[0] == 45 and len(curve.values) == 8


def test_a_term_that_is_logged_less_often_is_still_a_line():
    record = segmentation(steps=1)
    sparse = [None, 1., None, 2., None, None, None, 3.]
    record.steps[0]['curves']['losses']['penalty'] = sparse
    curve = sequence_curves(record)['penalty']
    assert curve.iterations == [10, 20, 40]
    assert curve.values == [1., 2., 3.]


def test_records_without_curves():
    record = segmentation(with_curves=False)
    assert sequence_curves(record) == {}
    assert boundaries(record) == [0, 0, 0]
    assert sequence_curves(segmentation(steps=0)) == {}
