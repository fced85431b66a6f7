import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from mmseg_spwc.models.losses.pooled_norms import (
    box_gram,
    box_norm,
    channel_norm,
    pixel_grams,
)

WINDOWS = (4, 8, 12, 16, 20, 24)


def box_pooled(delta, windows):
    pooled = [F.avg_pool2d(delta, k, 1, k // 2) for k in windows]
    norms = [p.flatten(1).norm(dim=1) for p in pooled]
    return sum(norms) / len(norms)


@settings(deadline=None, max_examples=25)
@given(
    st.integers(1, 30), st.integers(1, 30),
    st.lists(st.integers(1, 24), min_size=1, max_size=3))
def test_equals_pooling_for_any_size_and_window(height, width, windows):
    delta = torch.randn(
        2, 3, height, width, dtype=torch.float64, requires_grad=True)
    weight = torch.tensor([1., -2.], dtype=torch.float64)
    got, expected = box_norm(delta, windows), box_pooled(delta, windows)
    torch.testing.assert_close(got, expected)
    torch.testing.assert_close(
        torch.autograd.grad(got @ weight, delta),
        torch.autograd.grad(expected @ weight, delta))


@pytest.mark.parametrize('size', [8, 32])
@pytest.mark.parametrize('kind', ['noise', 'smooth', 'nearly_zero'])
def test_float32_is_accurate(kind, size):
    torch.manual_seed(0)
    delta = torch.randn(2, 16, size, size)
    delta = {
        'noise': delta,
        'smooth': 1 + 0.01 * delta,
        'nearly_zero': 1e-8 * delta
    }[kind].requires_grad_()
    got = box_norm(delta, WINDOWS)
    expected = box_pooled(delta.double(), WINDOWS)
    torch.testing.assert_close(got.double(), expected, rtol=1e-5, atol=0)
    gradient, = torch.autograd.grad(got.sum(), delta)
    reference, = torch.autograd.grad(expected.sum(), delta)
    assert (gradient - reference).norm() < 1e-5 * reference.norm()


def test_even_windows_have_one_more_position_than_pixels():
    """A single pixel lies under 2 x 2 windows of side 4, or 1 of side 3."""
    pixel = torch.ones(1, 1, 1, 1)
    assert box_norm(pixel, (4, )).item() == pytest.approx(math.sqrt(4) / 16)
    assert box_norm(pixel, (3, )).item() == pytest.approx(1 / 9)


@pytest.mark.parametrize('size', [4, 20])
def test_one_zero_image_leaves_the_other_alone(size):
    zeros = torch.zeros(2, size, size)
    delta = torch.stack([zeros, zeros + 1]).requires_grad_()
    norm = box_norm(delta, (4, ))
    norm.sum().backward()
    assert norm[0] == 0 and norm[1] > 0
    assert torch.equal(delta.grad[0], zeros)
    assert (delta.grad[1] > 0).all()


def test_strided_input():
    delta = torch.randn(2, 3, 6, 8).to(memory_format=torch.channels_last)
    torch.testing.assert_close(
        box_norm(delta, (4, )), box_norm(delta.contiguous(), (4, )))


def test_matrices_are_cached_and_fit_for_training():
    """Also if they were first asked for in inference mode."""
    like = torch.device('cpu'), torch.float32
    for make, arguments in ((box_gram, (5, 4)), (pixel_grams, (5, 6, (4, )))):
        with torch.inference_mode():
            first = make(*arguments, *like)
        assert not first.is_inference()
        assert make(*arguments, *like) is first


def channel_pooled(delta):
    pooled = F.avg_pool2d(delta.transpose(1, 2), (3, 1), 1, (1, 0))
    assert pooled.transpose(1, 2).shape == delta.shape
    return pooled.flatten(1).norm(dim=1)


def test_equals_pooling_of_channels():
    weight = torch.tensor([1., -2.], dtype=torch.float64)
    for channels in (1, 2, 3, 8):
        delta = torch.randn(
            2, channels, 3, 5, dtype=torch.float64, requires_grad=True)
        got, expected = channel_norm(delta), channel_pooled(delta)
        torch.testing.assert_close(got, expected)
        torch.testing.assert_close(
            torch.autograd.grad(got @ weight, delta),
            torch.autograd.grad(expected @ weight, delta))


def test_zero_has_zero_gradient_over_channels():
    delta = torch.zeros(2, 3, 4, 4, requires_grad=True)
    channel_norm(delta).sum().backward()
    assert torch.equal(delta.grad, torch.zeros(2, 3, 4, 4))
