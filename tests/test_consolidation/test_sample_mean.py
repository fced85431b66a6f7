import pytest
import torch
from sample_models import CASES, assert_same, batch_of_one, mlp, nll_of
from torch import nn

from mmseg_spwc.consolidation import (
    ABSOLUTE,
    FisherImportance,
    fisher_diagonal,
    importance_sum,
    mas_importance,
)


def mas_sum(model, batches, **options):
    return importance_sum(model, batches, lambda logits, labels: [2 * logits],
                          ABSOLUTE, **options)


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
def test_mas_is_the_mean_absolute_gradient_of_the_squared_norm(
        model, inputs, shape):
    result = mas_importance(model, inputs.split(3))
    expected = batch_of_one(
        model, inputs, lambda logits, i: [(1., (logits**2).sum())], 1)
    assert_same(result, expected)


def test_sums_of_shards_add_up():
    model, inputs = mlp(), torch.randn(10, 5)
    shards = [mas_sum(model, [part]) for part in inputs.split(6)]
    assert [shard.count for shard in shards] == [6, 4]
    whole = mas_importance(model, [inputs])
    for name, value in whole.items():
        merged = sum(s.sums[name] for s in shards) / 10
        torch.testing.assert_close(merged, value)
    torch.testing.assert_close(
        shards[0].mean()['0.weight'] * 6, shards[0].sums['0.weight'])


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
    ({'labels': 'true'}, [torch.randn(2, 5)], ValueError, 'labels of'),
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


def test_labels_are_sampled_unless_others_are_asked_for():
    model, inputs = mlp(), torch.randn(6, 5)
    torch.manual_seed(3)
    unasked = fisher_diagonal(model, [inputs])
    torch.manual_seed(3)
    assert_same(unasked, fisher_diagonal(model, [inputs], labels='sample'))
    assert FisherImportance().labels == 'sample'


def test_labels_are_cut_with_the_inputs():
    model, inputs = mlp(), torch.randn(6, 5)
    labels = torch.randint(4, (6, ))
    some = fisher_diagonal(model, [(inputs, labels)], labels='empirical',
                           n_samples=4)
    assert_same(some, fisher_diagonal(
        model, [(inputs[:4], labels[:4])], labels='empirical'))
