"""The numbers of a classification run."""
import pytest

from mmseg_spwc.problems.classification_problem import accuracy_summary

ROWS = [[0.9], [0.7, 0.8], [0.6, 0.4, 0.95]]


def test_numbers_by_hand():
    kept = [dict(penalised=p, stored=s) for p, s in ((0, 0), (1, 1), (1, 2))]
    found = accuracy_summary(ROWS, kept)
    apa = [0.9, 0.75, 0.65]
    assert found == pytest.approx(dict(
        average_apa=sum(apa) / 3,
        average_acf=(0.15 + 0.25) / 2,
        final_accuracy=0.65,
        forgetting=(0.3 + 0.4) / 2,
        bwt=-(0.3 + 0.4) / 2,
        learning_accuracy=(0.9 + 0.8 + 0.95) / 3,
        first_accuracy=0.9,
        ps_active=(1 + 1 / 2 + 1 / 2) / 3,
        ps_stored=(1 + 1 / 3 + 1 / 5) / 3,
        ps_resident=(1 + 1 / 3 + 1 / 3) / 3))


def test_ewc_over_ten_tasks_has_the_papers_ps():
    rows = [[0.5] * (t + 1) for t in range(10)]
    kept = [dict(penalised=t, stored=t) for t in range(10)]
    assert accuracy_summary(rows, kept)['ps_active'] == pytest.approx(
        0.2929, abs=1e-4)


def test_a_method_without_a_penalty_has_no_ps():
    found = accuracy_summary(ROWS, [{}, {}, {}])
    assert found['ps_active'] is found['ps_stored'] is None
    assert found['ps_resident'] is None
    assert found['bwt'] == pytest.approx(-0.35)


def test_training_once_on_everything_has_one_row():
    assert accuracy_summary([[0.5, 0.7]], [{}]) == {
        'final_accuracy': pytest.approx(0.6)}
