import math

import pytest
import torch
import torch.nn.functional as F
from sample_models import (
    CASES,
    Dense,
    assert_same,
    batch_of_one,
    mlp,
    nll_of,
)
from torch import nn

from mmseg_spwc.consolidation import fisher_diagonal


@pytest.mark.parametrize('model, inputs, shape', CASES)
def test_most_likely_labels(model, inputs, shape):
    labels = model.eval()(inputs).argmax(1)
    result = fisher_diagonal(model, inputs.split(3), labels='max')
    assert_same(result, batch_of_one(model, inputs, nll_of(labels), 2))


def test_exact_fisher_sums_over_all_labels():
    model, inputs = mlp(), torch.randn(6, 5)

    def objective(logits, i):
        logs = logits.log_softmax(1)[0]
        return [(log.exp().item(), log) for log in logs]

    result = fisher_diagonal(model, inputs.split(4), labels='exact')
    assert_same(result, batch_of_one(model, inputs, objective, 2))


def test_sampled_labels_are_unbiased():
    """Many draws for one input approach the exact diagonal."""
    model, inputs = mlp(), torch.randn(1, 5)
    torch.manual_seed(3)
    exact = fisher_diagonal(model, [inputs], labels='exact')
    sampled = fisher_diagonal(model, [inputs.expand(20000, 5)])
    for name, value in exact.items():
        torch.testing.assert_close(
            sampled[name], value, rtol=.2, atol=.03 * value.max().item())


def test_sampled_labels_of_pixels_are_independent():
    """A linear model of two pixels: the cross terms must average out."""
    model = nn.Conv2d(1, 2, 1)
    inputs = torch.ones(20000, 1, 1, 2)
    result = fisher_diagonal(model, [inputs])
    p = model(inputs[:1]).softmax(1)[0, :, 0, 0]
    expected = 2 * p[0] * p[1]  # per pixel p(1 - p), two pixels
    assert result['bias'].tolist() == pytest.approx([expected.item()] * 2,
                                                    rel=.05)


def test_logistic_regression_in_closed_form():
    """F = mean p(1-p) a a^T on the diagonal, for two classes."""
    model, inputs = nn.Linear(3, 2), torch.randn(50, 3)
    p = model(inputs).softmax(1)[:, :1]
    expected = (p * (1 - p) * inputs**2).mean(0)
    result = fisher_diagonal(model, [inputs], labels='exact')['weight']
    torch.testing.assert_close(result, expected.expand(2, 3).detach())


def test_ignored_pixels_do_not_count():
    model, inputs = Dense(), torch.randn(2, 3, 8, 8)
    labels = torch.randint(4, (2, 4, 4))
    labels[:, :2] = 255

    def objective(logits, i):
        return [(1., F.cross_entropy(logits, labels[i:i + 1],
                                     ignore_index=255, reduction='sum'))]

    result = fisher_diagonal(
        model, [(inputs, labels)], labels='empirical', ignore_index=255)
    assert_same(result, batch_of_one(model, inputs, objective, 2))


def test_exact_needs_one_label_a_sample():
    with pytest.raises(ValueError, match="'sample'"):
        fisher_diagonal(Dense(), [torch.randn(2, 3, 8, 8)], labels='exact')
    with pytest.raises(ValueError, match=r'\(B, C\)'):
        fisher_diagonal(
            nn.Linear(5, 1), [torch.randn(2, 5)],
            forward=lambda m, x: m(x)[:, 0])


def test_trace_of_the_exact_fisher_is_that_of_the_definition():
    """One parameter, by pencil: f(x) = (w, 0), F = p(1 - p)."""

    class One(nn.Module):

        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.tensor(.3))

        def forward(self, x):
            return torch.stack([self.w * x, 0 * x], 1)

    p = 1 / (1 + math.exp(-.3))
    result = fisher_diagonal(One(), [torch.ones(3)], labels='exact')
    assert result['w'].item() == pytest.approx(p * (1 - p), rel=1e-5)
