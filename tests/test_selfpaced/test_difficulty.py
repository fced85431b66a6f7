import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmseg_spwc.selfpaced import difficulty

# printed to the given number of digits; independent of the code
TABLE = {
    .1: .0105, .2: .045, .25: .072, .3: .107, .35: .151, .4: .204, .45: .269,
    .5: .347, .55: .439, .6: .550, .65: .682, .7: .843, .75: 1.04, .8: 1.29,
    .85: 1.61, .9: 2.07, .93: 2.47, .95: 2.85, .96: 3.09, .97: 3.40,
    .98: 3.83, .99: 4.56, .999: 6.90
}


@pytest.mark.parametrize('psi, eta', TABLE.items())
def test_published_values(psi, eta):
    assert difficulty(psi).item() == pytest.approx(eta, rel=7e-3, abs=5e-4)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0, .999999), min_size=1, max_size=6))
def test_matches_python_floats(psi):
    expected = [-p * math.log(1 - p) for p in psi]
    assert difficulty(psi).tolist() == pytest.approx(expected, abs=1e-12)


@settings(deadline=None, max_examples=50)
@given(st.floats(1e-3, 1), st.floats(1e-3, 1))
def test_grows_with_psi(first, second):
    low, high = sorted((first, second))
    assert difficulty(low) <= difficulty(high)


def test_end_points():
    eta = difficulty([0, 1])
    assert eta.tolist() == [0, math.inf]


@pytest.mark.parametrize('psi', [.5, [.5], torch.tensor([[.5]]), (.5, ), []])
def test_float64_and_shape_kept(psi):
    eta = difficulty(psi)
    assert eta.dtype == torch.float64
    assert eta.shape == torch.as_tensor(psi).shape


@pytest.mark.parametrize('psi', [-.1, 1.1, math.inf, -math.inf, [.5, 2]])
def test_out_of_range(psi):
    with pytest.raises(ValueError, match=r'\[0, 1\]'):
        difficulty(psi)


def test_percentages_are_recognised():
    with pytest.raises(ValueError, match='divide it by 100'):
        difficulty([63.1, 40.2])
    with pytest.raises(ValueError) as error:
        difficulty([-3., 40.])
    assert '100' not in str(error.value)


def test_nan():
    with pytest.raises(ValueError, match='NaN'):
        difficulty([.5, math.nan])
