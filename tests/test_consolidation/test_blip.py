import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mmseg_spwc.consolidation import BLIP
from mmseg_spwc.consolidation.blip import information_gain, quantise


def make(seed=0, **kwargs):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(9, 4), nn.ReLU(), nn.Linear(4, 2))
    blip = BLIP(dict(model.named_parameters()), **kwargs)
    blip.initialise_(dict(model.named_parameters()))
    return model, blip, dict(model.named_parameters())


def random_fisher(params, scale):
    return {
        n: scale * torch.rand_like(p)**4 for n, p in params.items()
    }


def test_ranges_and_prior():
    conv = nn.Conv2d(3, 5, 4)
    blip = BLIP(dict(conv.named_parameters()), prior=1e-3)
    weight, bias = blip.states['weight'], blip.states['bias']
    assert weight.bound == pytest.approx(6 / math.sqrt(48))
    assert bias.bound == 1
    assert weight.fisher.unique().tolist() == pytest.approx([.048])
    assert bias.fisher.unique().tolist() == pytest.approx([.048])


def test_initialisation():
    layer = nn.Linear(100, 2000)
    params = dict(layer.named_parameters())
    BLIP(params).initialise_(params)
    assert layer.weight.std().item() == pytest.approx(.1, rel=.01)
    assert layer.weight.abs().max() <= .6
    assert not layer.bias.any()


@settings(deadline=None, max_examples=40)
@given(
    st.floats(0, 1e6), st.floats(1e-9, 10), st.integers(0, 9),
    st.integers(0, 20))
def test_bits_by_the_formula(fisher, running, task, start):
    gain = .5 * math.log2(
        (fisher + (task + 1) * running) / ((task + 2) * running))
    if abs(gain - round(gain)) < 1e-6:
        return  # the ceiling of such a number hangs on its last digit
    layer = nn.Linear(1, 1, bias=False).double()
    blip = BLIP(dict(layer.named_parameters()))
    state = blip.states['weight']
    blip.task = task
    state.fisher.fill_(running)
    state.bits.fill_(start)
    blip.consolidate_(dict(layer.named_parameters()),
                      {'weight': torch.full((1, 1), fisher).double()})
    expected = min(20, start + max(0, math.ceil(gain)))
    assert state.bits.item() == expected
    assert state.fisher.item() == pytest.approx(
        ((task + 1) * running + fisher) / (task + 2))
    assert blip.task == task + 1


def test_a_task_as_informative_as_the_past_brings_no_bits():
    running = torch.tensor([1e-8, 3.])
    for task in range(4):
        gain = information_gain(running, running, task)
        torch.testing.assert_close(
            gain, torch.zeros(2), atol=1e-6, rtol=0)
    assert information_gain(63 * running[1], running[1], 0) == 2.5


@settings(deadline=None, max_examples=40)
@given(st.floats(-1, 1), st.integers(1, 20), st.floats(.1, 3))
def test_quantised_values_lie_on_the_grid(value, bits, bound):
    value = torch.tensor([value * bound], dtype=torch.float64)
    result = quantise(value, torch.tensor([bits], dtype=torch.int8), bound)
    steps = result.item() / bound * 2**bits
    assert steps == pytest.approx(round(steps), abs=1e-6)
    assert abs(result - value).item() <= bound * 2.**-bits / 2 + 1e-12


def test_no_bits_means_zero():
    zero_bits = torch.zeros(2, dtype=torch.int8)
    assert quantise(torch.tensor([.3, -.4]), zero_bits, 1.).tolist() == [0, 0]


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 1000), st.floats(-9, 3))
def test_frozen_bits_are_never_lost(seed, exponent):
    """|theta - anchor| <= R 2^-n at all times; n grows, up to 20."""
    model, blip, params = make(seed)
    for _ in range(4):
        before = {n: s.bits.clone() for n, s in blip.states.items()}
        for _ in range(3):
            for param in params.values():
                param.data += torch.randn_like(param)
            blip.project_(params)
            for name, state in blip.states.items():
                reach = state.bound * .5**state.bits.double()
                moved = (params[name] - state.anchor).abs()
                assert (moved <= reach + 1e-6).all()
                assert params[name].abs().max() < state.bound
        blip.consolidate_(params, random_fisher(params, 10**exponent))
        for name, state in blip.states.items():
            assert (state.bits >= before[name]).all()
            assert state.bits.max() <= 20
            assert torch.equal(state.anchor, params[name])


def test_the_anchor_stays_where_the_task_has_ended():
    _, blip, params = make()
    blip.consolidate_(params, random_fisher(params, 1.))
    ends = {n: p.detach().clone() for n, p in params.items()}
    for param in params.values():
        param.data += 1.
    assert all(torch.equal(blip.states[n].anchor, e) for n, e in ends.items())


def test_first_task_may_use_the_whole_range():
    _, blip, params = make()
    edge = {n: s.bound * .999 for n, s in blip.states.items()}
    for name, param in params.items():
        param.data.fill_(edge[name])
    blip.project_(params)
    for name, param in params.items():
        assert param.flatten()[0].item() == pytest.approx(edge[name])


def test_capacity():
    _, blip, params = make()
    assert blip.used_capacity() == 0
    blip.consolidate_(params, {n: torch.full_like(p, 1e10)
                               for n, p in params.items()})
    assert blip.used_capacity() == 1


def test_state_dict_round_trip():
    _, blip, params = make()
    blip.consolidate_(params, random_fisher(params, 1e-3))
    _, other, _ = make(1)
    other.load_state_dict(blip.state_dict())
    assert other.task == 1
    copies = {n: nn.Parameter(p.detach() + .5) for n, p in params.items()}
    moved = {n: nn.Parameter(p.detach() + .5) for n, p in params.items()}
    blip.project_(copies)
    other.project_(moved)
    assert all(torch.equal(copies[n], moved[n]) for n in copies)


def test_bad_input():
    with pytest.raises(ValueError, match='linear or convolution'):
        BLIP(dict(nn.BatchNorm2d(3).named_parameters()))
    with pytest.raises(ValueError, match='linear or convolution'):
        BLIP({'head.bias': nn.Parameter(torch.zeros(2))})
    with pytest.raises(ValueError, match='prior'):
        BLIP(dict(nn.Linear(2, 2).named_parameters()), prior=0.)
    _, blip, params = make()
    with pytest.raises(ValueError, match='finite'):
        blip.consolidate_(params, {n: torch.full_like(p, math.nan)
                                   for n, p in params.items()})
