"""Numbers taken from records, against a computation by hand."""
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_records import classification, segmentation

from mmseg_spwc.visualization import scores
from mmseg_spwc.visualization.series import lost


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1) | st.none(), max_size=6))
def test_spread_is_numpys(values):
    known = [v for v in values if v is not None]
    found = scores.spread(values)
    if known:
        assert found.mean == pytest.approx(np.mean(known))
    else:
        assert found.mean is None
    if len(known) > 1:
        assert found.sd == pytest.approx(np.std(known, ddof=1), abs=1e-9)
    else:
        assert found.sd is None


@pytest.mark.parametrize('record', [segmentation(), classification()])
def test_main_scores(record):
    name = 'accuracy' if 'EWC' in record.content['method'] else 'mIoU'
    assert scores.score_name(record) == name
    by_step = scores.scores_by_step(record)
    key = ('accuracy', 'mean') if name == 'accuracy' else ('miou', 'all')
    for entry in record.steps:
        assert by_step[entry['step']] == entry[key[0]][key[1]]
    assert scores.final_score(record) == list(by_step.values())[-1]
    assert scores.average_score(record) == pytest.approx(
        statistics.fmean(by_step.values()))


@pytest.mark.parametrize('record', [segmentation(steps=4), classification()])
def test_forgetting_by_loops(record):
    rows = [scores.unit_scores(record, s) for s in record.steps]
    total, count = 0., len(rows) - 1
    for j in range(count):
        best = max(rows[i][j] for i in range(j, count))
        total += best - rows[-1][j]
    assert scores.forgetting(record) == pytest.approx(total / count)
    matrix = lost(record).values
    for j in range(len(rows)):
        for t in range(len(rows)):
            if t < j:
                assert matrix[j][t] is None
            else:
                best = max(rows[i][j] for i in range(j, t + 1))
                assert matrix[j][t] == pytest.approx(best - rows[t][j])


def test_what_is_no_matrix_has_no_forgetting():
    record = segmentation(steps=3)
    record.content['steps'] = record.steps[-1:]  # trained once, on all
    assert scores.matrix(record) is None
    assert scores.forgetting(record) is None
    assert scores.forgetting(segmentation(steps=1)) is None
