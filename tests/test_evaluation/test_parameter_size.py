from fractions import Fraction

import pytest

from mmseg_spwc.evaluation import parameter_size_efficiency
from mmseg_spwc.evaluation.parameter_size import (
    resident_efficiency,
    stored_efficiency,
)


@pytest.mark.parametrize('counts, expected', [
    (range(10), .2929),
    ([t // 2 for t in range(10)], .4567),
    ([0] + [1] * 9, .55),
    ([0, 1] + [2] * 8, .417),
    ([0], 1.),
    ([0, 0, 0], 1.),
])
def test_published_and_derived_values(counts, expected):
    assert parameter_size_efficiency(counts) == pytest.approx(
        expected, abs=5e-4)


def test_ewc_is_a_harmonic_mean():
    series = [1, .75, .611, .521, .457, .408, .370, .340, .314, .293]
    for m, expected in enumerate(series, start=1):
        exact = sum(Fraction(1, t) for t in range(1, m + 1)) / m
        value = parameter_size_efficiency(list(range(m)))
        assert value == pytest.approx(float(exact))
        assert value == pytest.approx(expected, abs=2e-3)


def test_half_rule_series():
    series = [1, 1, .833, .75, .667, .611, .56, .521, .485, .457]
    for m, expected in enumerate(series, start=1):
        counts = [t // 2 for t in range(m)]
        assert parameter_size_efficiency(counts) == pytest.approx(
            expected, abs=2e-3)


def test_all_that_is_kept():
    assert stored_efficiency(range(10)) == pytest.approx(.213, abs=5e-4)


def test_what_training_holds():
    assert resident_efficiency(range(10)) == pytest.approx(.40)
    assert resident_efficiency(range(10000)) == pytest.approx(1 / 3, abs=1e-3)


@pytest.mark.parametrize('counts', [[], [0, -1]])
def test_bad_counts(counts):
    with pytest.raises(ValueError):
        parameter_size_efficiency(counts)
