"""Fingerprints tell values apart, and ranks are compared by them."""
import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmseg_spwc.errors import Disagreement
from mmseg_spwc.runtime import agreement
from mmseg_spwc.runtime.agreement import check_agreement, fingerprint

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text()
    | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8)


@settings(deadline=None, max_examples=60)
@given(plain, plain)
def test_equal_prints_mean_equal_values(a, b):
    assert fingerprint(a) == fingerprint(copy.deepcopy(a))
    # repr also tells 1, 1.0 and True, and 0.0 and -0.0 apart
    if fingerprint(a) == fingerprint(b):
        assert _sorted_repr(a) == _sorted_repr(b)


def _sorted_repr(value):
    if isinstance(value, dict):
        return sorted((key, _sorted_repr(v)) for key, v in value.items())
    if isinstance(value, list):
        return [_sorted_repr(v) for v in value]
    return repr(value)


def test_one_bit_of_a_tensor_shows():
    a = torch.arange(6.).reshape(2, 3)
    b = a.clone()
    b[1, 2] = torch.nextafter(b[1, 2], torch.tensor(9.))
    different = [a, b, a.reshape(3, 2), a.half(), a.t(), a.tolist()]
    assert len({fingerprint(v) for v in different}) == len(different)
    assert fingerprint(a.t()) == fingerprint(a.t().contiguous())
    assert fingerprint(a) == fingerprint(a.numpy())
    assert fingerprint(torch.tensor(1.)) != fingerprint(torch.ones(1))
    assert fingerprint(np.float32(2)) == fingerprint(2.)
    assert fingerprint(torch.ones(3, dtype=torch.bfloat16))


def test_nan_agrees_with_nan_and_order_of_keys_is_no_matter():
    assert fingerprint(float('nan')) == fingerprint(-float('nan'))
    assert fingerprint(dict(a=1, b=2)) == fingerprint(dict(b=2, a=1))
    assert fingerprint([1, 2]) != fingerprint([2, 1])
    with pytest.raises(TypeError, match='set'):
        fingerprint({1, 2})


@pytest.fixture
def two_ranks(monkeypatch):
    """Let rank 0 meet what ``other`` says of the same names."""

    def meet(other):
        monkeypatch.setattr(agreement, 'get_world_size', lambda: 2)
        monkeypatch.setattr(agreement, 'all_gather_object',
                            lambda mine: [mine, dict(mine, **other)])

    return meet


def test_the_message_names_what_differs(two_ranks):
    weights = dict(bias=torch.zeros(2), weight=torch.ones(2))
    two_ranks({})
    check_agreement('here', weights=weights, kpi=[0.5, None])
    two_ranks({'weights.weight': 'x'})
    with pytest.raises(Disagreement,
                       match=r'here: weights\.weight .*ranks \[1\]'):
        check_agreement('here', weights=weights, kpi=[0.5, None])
    two_ranks({'kpi': fingerprint([0.5, 1.])})
    with pytest.raises(Disagreement, match='kpi'):
        check_agreement('here', weights=weights, kpi=[0.5, None])


def test_a_single_process_agrees_with_itself():
    check_agreement('here', thing=object())
