"""Entropies of the old model and their quantiles, against loops."""
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pixel_parts import draw, entropy_of

from mmseg_spwc.models.pseudo_label import (
    EntropyThresholds,
    histogram_quantile,
    normalised_entropy,
    plop_quantile,
)
from mmseg_spwc.models.taps import predicted


def test_the_largest_logit_is_predicted_and_the_first_of_equals():
    logits = torch.randint(0, 3, (2, 5, 7, 9)).float()
    for b, h, w in torch.cartesian_prod(*map(torch.arange, (2, 7, 9))):
        scores = logits[b, :, h, w].tolist()
        assert predicted(logits)[b, h, w] == scores.index(max(scores))


@pytest.mark.parametrize('channels', [1, 256, 257, 400])
def test_a_place_among_many_channels_is_predicted(channels):
    logits = torch.randn(1, channels, 20, 30)
    logits[0, 0, 0, 0] = logits[0, -1, 1, 0] = 100
    assert torch.equal(predicted(logits), logits.argmax(dim=1))


@pytest.mark.parametrize('compat', [None, 'plop'])
def test_entropy(compat):
    old_logits, _ = draw()
    got = normalised_entropy(old_logits, 6, compat)
    for b, h, w in torch.cartesian_prod(*map(torch.arange, got.shape)):
        scores = old_logits[b, :, h, w].tolist()
        assert got[b, h, w].item() == pytest.approx(
            entropy_of(scores, 6, compat), rel=1e-5)


@pytest.mark.parametrize('num_old, published', [(11, 0.0366), (16, 0.0221),
                                                (20, 0.0164), (101, 0.0021)])
def test_bounds(num_old, published):
    uniform = torch.zeros(1, num_old, 1, 1)
    assert normalised_entropy(uniform, num_old + 1).item() == pytest.approx(1)
    bound = normalised_entropy(uniform, num_old + 1, 'plop').item()
    assert bound == pytest.approx(published, abs=6e-5)
    assert bound == pytest.approx(
        1 / (num_old * math.log(num_old + 1)), rel=1e-4)


def test_certain_predictions_have_no_entropy():
    certain = torch.tensor([1e4, -1e4, -1e4]).view(1, 3, 1, 1)
    assert normalised_entropy(certain, 4) == 0
    assert normalised_entropy(torch.randn(1, 1, 2, 2), 2).sum() == 0


@pytest.mark.parametrize('compat', [None, 'plop'])
def test_histogram_counts_background_by_class_and_entropy(compat):
    old_logits, labels = draw()
    entropies = EntropyThresholds(6, bins=100, compat=compat)
    expected = torch.zeros(6, 100, dtype=torch.long)
    for b, h, w in torch.cartesian_prod(*map(torch.arange, labels.shape)):
        if labels[b, h, w] < 4:
            scores = old_logits[b, :, h, w].tolist()
            value = entropy_of(scores, 6, compat)
            expected[scores.index(max(scores)), int(100 * value)] += 1
    entropies.update(old_logits, labels, 4)
    assert torch.equal(entropies.histogram, expected)
    # a second process's counts can be added
    entropies.update(old_logits, labels, 4)
    assert torch.equal(entropies.histogram, 2 * expected)


@pytest.mark.parametrize('portion', [0.2, 0.5, 0.8])
def test_thresholds_are_quantiles(portion):
    torch.manual_seed(0)
    old_logits = 2 * torch.randn(2, 3, 60, 60)
    entropies = EntropyThresholds(4)
    entropies.update(old_logits, torch.zeros(2, 60, 60).long(), 3)
    thresholds = entropies.thresholds(portion=portion)
    assert thresholds.shape == (4, )
    values = normalised_entropy(old_logits, 4)
    for c in range(3):
        mine = values[old_logits.argmax(dim=1) == c]
        assert thresholds[c].item() == pytest.approx(
            mine.quantile(portion).item(), abs=0.01)
    assert thresholds[3].item() == pytest.approx(0.001)  # never predicted


def test_floor():
    old_logits = torch.tensor([1e3, 0.]).view(1, 2, 1, 1).expand(1, 2, 4, 4)
    entropies = EntropyThresholds(3)
    entropies.update(old_logits, torch.zeros(1, 4, 4).long(), 2)
    assert entropies.thresholds(floor=0.3).tolist() == pytest.approx([.3] * 3)
    # all in the first bin: taken as spread evenly over it
    assert entropies.thresholds()[0].item() == pytest.approx(0.005)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 9), min_size=10, max_size=10).filter(any),
       st.sampled_from([0., 0.25, 0.5, 1.]))
def test_quantile_lies_in_the_right_bin(counts, portion):
    value = histogram_quantile(torch.tensor([counts]), portion).item()
    samples = [i for i, n in enumerate(counts) for _ in range(n)]
    rank = max(math.ceil(portion * len(samples)) - 1, 0)
    assert samples[rank] - 1e-5 <= 10 * value <= samples[rank] + 1 + 1e-5


def published_search(counts, portion):
    """The published loop: the running sum grows by the bin's index."""
    target, running, bins = sum(counts) * portion, 0, len(counts)
    for index in range(bins):
        if running <= target <= running + counts[index]:
            break
        running += index
    rest = target - running
    if counts[index] == 0:
        return math.copysign(math.inf, rest) if rest else math.nan
    return (index + rest / counts[index]) / bins


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.integers(0, 60), min_size=10, max_size=10).filter(any),
    st.sampled_from([0.3, 0.5]))
def test_published_quantile(counts, portion):
    got = plop_quantile(torch.tensor([counts]), portion).item()
    expected = published_search(counts, portion)
    assert got == pytest.approx(expected, rel=1e-5, nan_ok=True)


def test_published_quantile_by_hand():
    bins = torch.zeros(4, 100, dtype=torch.long)
    bins[0, :2] = torch.tensor([600, 400])  # bin 0 holds half and more
    bins[1, :3] = torch.tensor([10, 9000, 20000])  # bins 0 and 1 are passed
    bins[2] = 300  # bin 99 is passed as well, at 0 + 1 + ... + 99
    bins[3, :99] = 300  # and empty
    expected = [
        0.01 * 500 / 600, 0.01 * (2 + (14505 - 1) / 20000),
        0.01 * (99 + (15000 - 4950) / 300), math.inf
    ]
    assert plop_quantile(bins, 0.5).tolist() == pytest.approx(expected)
