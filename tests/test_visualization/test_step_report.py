"""What the terminal says after a step."""
import math

import pytest
from made_records import classification, paced, segmentation

from mmseg_spwc.visualization.step_report import (
    next_weights,
    step_line,
    step_report,
)


def with_scores(record, rows):
    for entry, row in zip(record.steps, rows, strict=True):
        entry['iou'] = row
    return record


def test_kept_and_forgotten():
    record = with_scores(segmentation(steps=3, base=3), [
        [.9, .6, .5], [.8, .58, .1, .4], [.9, .6, .3, .38, .2]])
    lines = step_report(record, 2).splitlines()
    assert lines[0] == step_line(record, 2)
    # best 0.5 of the first step, not the 0.1 in between
    assert lines[1:] == ['  kept: 3 of 4 old classes',
                         '  forgotten: class 2 50.0 -> 30.0']
    assert step_report(record, 0) == step_line(record, 0)


def test_what_was_never_learnt_is_not_kept():
    record = with_scores(segmentation(steps=3, base=3), [
        [.9, 0., .01], [.88, 0., .04, .4], [.9, 0., .05, .38, .2]])
    assert step_report(record, 2).splitlines()[1:] == [
        '  kept: 2 of 4 old classes', '  never learnt: class 1, class 2']


def test_only_the_worst_are_named():
    rows = [[.9] * 8, [.1 + .01 * i for i in range(8)] + [.5]]
    record = with_scores(segmentation(steps=2, base=8), rows)
    line = step_report(record, 1).splitlines()[2]
    assert line.startswith('  forgotten: background 90.0 -> 10.0, class 1')
    assert line.endswith('class 4 90.0 -> 14.0 and 3 more')


def test_tasks():
    record = classification(tasks=2)
    record.steps[0]['accuracy_by_step'] = [.9]
    record.steps[1]['accuracy_by_step'] = [.2, .8]
    lines = step_report(record, 1).splitlines()
    assert lines[0].startswith('Step 1 done: accuracy on the new task 80.0')
    assert lines[1] == '  kept: 0 of 1 old steps'
    assert lines[2] == '  forgotten: step 0 90.0 -> 20.0'


def test_forecast_is_the_papers_rule():
    """v = sqrt(1 - eta / mu) with eta = -psi ln(1 - psi), by hand."""
    record = segmentation('RCIL+spWC', steps=1, base=3, planned=2,
                          self_paced=dict(mu=0.5))
    psi = [.9, .5, .2]
    record.steps[0]['kpi']['class'] = psi
    eta = [-p * math.log(1 - p) for p in psi]
    expected = [math.sqrt(max(0, 1 - e / .5)) for e in eta]
    found = next_weights(record, 0)
    assert [name for name, _ in found] == ['background', 'class 1', 'class 2']
    assert [v for _, v in found] == pytest.approx(expected)
    line = step_report(record, 0).splitlines()[-1]
    assert line == (f'  spWC protects next: class 2 {expected[2]:.2f}, '
                    f'class 1 {expected[1]:.2f}')


@pytest.mark.parametrize('record', [
    segmentation('RCIL', steps=1, planned=2),  # no spWC
    segmentation('RCIL+spWC', steps=2),  # no next step
])
def test_nothing_to_forecast(record):
    assert next_weights(record, record.finished_steps[-1]) is None


def test_without_held_out_scores_there_is_no_forecast():
    record = segmentation('RCIL+spWC', steps=1, planned=2)
    record.steps[0]['kpi'] = None
    assert next_weights(record, 0) is None


def test_what_version_1_did_not_tell_is_left_out():
    record = segmentation('RCIL+spWC', steps=1, planned=2)
    assert 'spWC protects next' in step_report(record, 0)
    del record.steps[0]['self_paced']
    assert 'spWC' not in step_report(record, 0)


def test_units_of_a_classification_are_steps():
    record = classification(tasks=2)
    record.steps[0]['self_paced'] = paced(unit='step', mu='inf')
    assert next_weights(record, 0) == [('step 0', 1.)]
