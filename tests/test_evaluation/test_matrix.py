import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmseg_spwc.evaluation import AccuracyMatrix

SMALL = [[.9], [.6, .8], [.5, .7, 1.]]

# Table of the paper, Average-APA and Average-ACF in percent for
# Permuted-MNIST, CIFAR-100 and Tiny ImageNet
PAPER = {
    'Finetune': (85.4, 12.3, 29.4, 37.2, 29.6, 24.3),
    'JointTrain': (96.2, 0.3, 63.0, 0.1, 50.3, 1.2),
    'EWC': (93.0, 3.9, 51.3, 13.1, 42.9, 9.4),
    'online-EWC': (93.5, 3.3, 50.5, 14.0, 42.3, 10.1),
    'LwF': (93.9, 2.9, 54.4, 9.7, 43.8, 8.4),
    'SI': (93.6, 3.2, 52.7, 11.5, 42.2, 10.3),
    'MAS': (91.1, 6.0, 51.1, 13.3, 40.3, 12.3),
    'BLIP': (93.8, 3.0, 51.3, 11.4, 43.5, 8.7),
    'EWC+spWC': (95.1, 1.6, 55.3, 8.7, 46.1, 5.9),
    'MAS+spWC': (94.8, 1.9, 55.9, 8.1, 45.7, 6.4),
}


@st.composite
def matrices(draw):
    tasks = draw(st.integers(2, 8))
    values = st.floats(0, 1)
    return [[draw(values) for _ in range(i + 1)] for i in range(tasks)]


def test_by_hand():
    a = AccuracyMatrix(SMALL)
    assert a.apa() == pytest.approx([.9, .7, 2.2 / 3])
    assert a.acf() == pytest.approx([0, .2, .9 - 2.2 / 3])
    assert a.average_apa() == pytest.approx((.9 + .7 + 2.2 / 3) / 3)
    assert a.average_acf() == pytest.approx((.2 + .9 - 2.2 / 3) / 2)
    assert a.forgetting() == pytest.approx((.4 + .1) / 2)
    assert a.bwt() == pytest.approx((-.4 - .1) / 2)
    assert a.learning_accuracy() == pytest.approx(.9)
    assert a.final_accuracy() == pytest.approx(2.2 / 3)


def test_forgetting_counts_from_the_best_and_bwt_from_the_first():
    a = AccuracyMatrix([[.5], [.8, .5], [.6, .5, .5]])
    assert a.forgetting() == pytest.approx((.2 + 0) / 2)
    assert a.bwt() == pytest.approx((.1 + 0) / 2)


@settings(deadline=None, max_examples=50)
@given(matrices())
def test_loops_and_the_acf_identity(rows):
    a, m = AccuracyMatrix(rows), len(rows)
    full = np.full((m, m), np.nan)
    for i, row in enumerate(rows):
        full[i, :i + 1] = row
    assert a.apa() == pytest.approx(list(np.nanmean(full, axis=1)))
    assert a.average_acf() == pytest.approx(
        m / (m - 1) * (a[0][0] - a.average_apa()), abs=1e-12)
    best = np.nanmax(full[:-1, :-1], axis=0)
    assert a.forgetting() == pytest.approx((best - full[-1, :-1]).mean())
    diagonal = np.diag(full)
    assert a.learning_accuracy() == pytest.approx(diagonal.mean())
    assert a.bwt() == pytest.approx((full[-1, :-1] - diagonal[:-1]).mean())


@pytest.mark.parametrize('column, first, exceptions', [
    (0, 96.5, ()),
    (2, 63.1, ('Finetune', 'BLIP')),
    (4, 51.4, ()),
])
def test_first_task_accuracy_recovered_from_the_paper(column, first,
                                                      exceptions):
    """All methods learn task 1 alike, so the identity must give one a[1][1].

    Rounding to one decimal allows 0.095. The definition of Average-ACF over
    all ten steps would scatter by more than one point.
    """
    for method, row in PAPER.items():
        apa, acf = row[column:column + 2]
        tolerance = 1.6 if method in exceptions else .11
        assert apa + .9 * acf == pytest.approx(first, abs=tolerance)


def test_metrics_reproduce_a_row_of_the_paper():
    """A matrix with EWC's Average-APA on Tiny has its Average-ACF."""
    rows = [[.5136]] + [[apa] * (t + 2)
                        for t, apa in enumerate([(4.29 - .5136) / 9] * 9)]
    a = AccuracyMatrix(rows)
    assert 100 * a.average_apa() == pytest.approx(42.9)
    assert 100 * a.average_acf() == pytest.approx(9.4, abs=.05)


def test_recording_row_by_row():
    a = AccuracyMatrix()
    for row in SMALL:
        a.record(row)
    assert [*a] == SMALL
    assert len(a) == 3 and a[2][1] == .7 and a[-1] == SMALL[-1]


@pytest.mark.parametrize('make', [list, np.array, torch.tensor])
def test_square_input_ignores_tasks_not_learnt_yet(make):
    nan = float('nan')
    rows = make([[.9, .1, nan], [.6, .8, .2], [.5, .7, 1.]])
    a = AccuracyMatrix(rows)
    assert a.apa() == pytest.approx([.9, .7, 2.2 / 3])


def test_one_task_has_forgotten_nothing():
    a = AccuracyMatrix([[.9]])
    assert a.average_acf() == a.forgetting() == a.bwt() == 0
    assert a.average_apa() == .9


@pytest.mark.parametrize('rows, message', [
    ([[.9], [.5]], 'row 1 has 1'),
    ([[.9], [.5, .6, .7]], 'row 1 has 3'),
    ([[.9, .1, .1], [.5, .6]], 'row 1 has 2'),
    ([[.9, .1], [.5, .6], [.5, .6]], 'row 2 has 2'),
    ([[]], 'row 0 has 0'),
    ([[63.1]], 'divide percentages by 100'),
    ([[float('nan')]], 'got nan'),
    ([[.9], [.5, -.1]], r'a\[1\]\[1\]'),
])
def test_bad_rows(rows, message):
    with pytest.raises(ValueError, match=message):
        AccuracyMatrix(rows)


def test_empty_matrix_has_no_metrics():
    for metric in ('apa', 'forgetting', 'bwt', 'learning_accuracy'):
        with pytest.raises(ValueError, match='empty'):
            getattr(AccuracyMatrix(), metric)()
