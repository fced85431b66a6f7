import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mmseg_spwc.consolidation import (
    batched_fisher,
    fisher_diagonal,
    fisher_sum,
    mas_importance,
    mas_sum,
)


def mlp(inputs=5, classes=4):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(inputs, 7), nn.ReLU(), nn.Linear(7, 6), nn.Tanh(),
        nn.Linear(6, classes))


class Dense(nn.Module):
    """A little segmentation network: (B, 3, H, W) to (B, 4, h, w)."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.body = nn.Sequential(
            nn.Conv2d(3, 6, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(6), nn.ReLU(inplace=True),
            nn.Conv2d(6, 6, 3, padding=2, dilation=2, groups=3),
            nn.GroupNorm(2, 6), nn.ReLU(inplace=True), nn.Conv2d(6, 4, 1))
        self.body[1].running_mean.normal_()
        self.body[1].running_var.uniform_(.5, 2)

    def forward(self, x):
        return self.body(x)


def batch_of_one(model, inputs, objective, power):
    """The definition: one sample at a time, gradient by gradient."""
    model.eval()
    params = dict(model.named_parameters())
    total = {n: torch.zeros_like(p) for n, p in params.items()}
    for i in range(len(inputs)):
        for weight, value in objective(model(inputs[i:i + 1]), i):
            grads = torch.autograd.grad(
                value, list(params.values()), retain_graph=True)
            for name, grad in zip(params, grads, strict=True):
                total[name] += weight * grad.abs()**power
    return {n: t / len(inputs) for n, t in total.items()}


def nll_of(labels):

    def objective(logits, i):
        loss = F.cross_entropy(logits, labels[i:i + 1], reduction='sum')
        return [(1., loss)]

    return objective


def assert_same(result, expected, rtol=1e-4):
    assert list(result) == list(expected)
    for name, value in expected.items():
        scale = value.abs().max().item()
        torch.testing.assert_close(
            result[name], value, rtol=rtol, atol=1e-6 * scale, msg=name)


CASES = [
    (mlp(), torch.randn(9, 5), (9, )),
    (Dense(), torch.randn(4, 3, 8, 8), (4, 4, 4)),
]


@pytest.mark.parametrize('model, inputs, shape', CASES)
@pytest.mark.parametrize('size', [1, 4, 100])
def test_empirical_fisher_is_that_of_single_samples(model, inputs, shape,
                                                    size):
    labels = torch.randint(4, shape)
    batches = list(
        zip(inputs.split(size), labels.split(size), strict=True))
    result = fisher_diagonal(model, batches, labels='empirical')
    assert_same(result, batch_of_one(model, inputs, nll_of(labels), 2))


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


@pytest.mark.parametrize('model, inputs, shape', CASES)
def test_mas_is_the_mean_absolute_gradient_of_the_squared_norm(
        model, inputs, shape):
    result = mas_importance(model, inputs.split(3))
    expected = batch_of_one(
        model, inputs, lambda logits, i: [(1., (logits**2).sum())], 1)
    assert_same(result, expected)


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


def test_batch_sum_is_b_times_batch_mean():
    model, size = mlp(), 5
    batches = [(torch.randn(size, 5), torch.randint(4, (size, )))
               for _ in range(3)]
    mean = batched_fisher(model, batches, 'mean')
    total = batched_fisher(model, batches, 'sum')
    for name, value in mean.items():
        torch.testing.assert_close(total[name], size * value)
    single = [(x[i:i + 1], y[i:i + 1]) for x, y in batches
              for i in range(size)]
    assert_same(
        batched_fisher(model, single, 'mean'),
        fisher_diagonal(model, batches, labels='empirical'))
    with pytest.raises(ValueError, match='reduction'):
        batched_fisher(model, batches, 'none')
    with pytest.raises(ValueError, match='no samples'):
        batched_fisher(model, [])


def test_sums_of_shards_add_up():
    model, inputs = mlp(), torch.randn(10, 5)
    shards = [mas_sum(model, [part]) for part in inputs.split(6)]
    assert [shard.count for shard in shards] == [6, 4]
    whole = mas_importance(model, [inputs])
    for name, value in whole.items():
        merged = sum(s.sums[name] for s in shards) / 10
        torch.testing.assert_close(merged, value)
    labels = torch.randint(4, (10, ))
    total = fisher_sum(model, [(inputs, labels)], labels='empirical')
    assert total.count == 10
    torch.testing.assert_close(
        total.mean()['0.weight'] * 10, total.sums['0.weight'])


@pytest.mark.parametrize('n_samples', [1, 5, 6, 100])
def test_n_samples_takes_the_first_ones(n_samples):
    model, inputs = mlp(), torch.randn(10, 5)
    some = mas_sum(model, inputs.split(3), n_samples=n_samples)
    assert some.count == min(n_samples, 10)
    assert_same(some.mean(), mas_importance(model, [inputs[:n_samples]]))


def test_n_samples_reads_no_further_than_needed():
    model = mlp()

    def endless():
        while True:
            yield torch.randn(4, 5)

    assert mas_sum(model, endless(), n_samples=6).count == 6


def test_custom_forward():

    class Heads(nn.Module):

        def __init__(self):
            super().__init__()
            self.trunk, self.heads = nn.Linear(5, 6), nn.ModuleList(
                [nn.Linear(6, 2), nn.Linear(6, 3)])

        def forward(self, x):
            return [head(self.trunk(x).relu()) for head in self.heads]

    model, inputs = Heads(), torch.randn(4, 5)
    result = fisher_diagonal(
        model, [inputs], labels='exact', forward=lambda m, x: m(x)[1])
    assert result['heads.1.weight'].any()
    assert not result['heads.0.weight'].any()  # there, and zero
    with pytest.raises(TypeError, match='forward='):
        fisher_diagonal(model, [inputs])


def test_frozen_parameters_are_left_out():
    model, inputs = mlp(), torch.randn(4, 5)
    everything = fisher_diagonal(model, [inputs], labels='exact')
    model[0].requires_grad_(False)
    model[2].bias.requires_grad_(False)
    some = fisher_diagonal(model, [inputs], labels='exact')
    assert list(some) == ['2.weight', '4.weight', '4.bias']
    assert_same(some, {name: everything[name] for name in some})
    with pytest.raises(ValueError, match='requires grad'):
        fisher_diagonal(model.requires_grad_(False), [inputs])


def test_double_precision():
    model = mlp().double()
    result = mas_importance(model, [torch.randn(3, 5).double()])
    assert all(v.dtype == torch.float64 for v in result.values())


def test_half_precision_sums_in_single():
    model = mlp().bfloat16()
    result = mas_importance(model, [torch.randn(4, 5).bfloat16()])
    assert all(v.dtype == torch.float32 for v in result.values())


@pytest.mark.parametrize('kwargs, batches, error, message', [
    ({'labels': 'true'}, [torch.randn(2, 5)], ValueError, 'labels must be'),
    ({'labels': 'empirical'}, [torch.randn(2, 5)], ValueError, 'true labels'),
    ({'labels': 'empirical'}, [(torch.randn(2, 5), torch.tensor([0, 7]))],
     ValueError, r'\[0, 4\)'),
    ({'labels': 'empirical'}, [(torch.randn(2, 5), torch.zeros(3).long())],
     ValueError, 'shape'),
    ({'n_samples': 0}, [torch.randn(2, 5)], ValueError, 'n_samples'),
    ({}, [], ValueError, 'no samples'),
    ({}, [{'inputs': 1}], TypeError, 'batches must hold tensors'),
])
def test_bad_input(kwargs, batches, error, message):
    with pytest.raises(error, match=message):
        fisher_diagonal(mlp(), batches, **kwargs)


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
