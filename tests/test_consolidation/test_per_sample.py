import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mmseg_spwc.consolidation import mas_importance
from mmseg_spwc.consolidation.per_sample import (
    ABSOLUTE,
    SQUARE,
    PerSampleGradients,
    chunks,
)

# torch's remark that an operation has no batching rule of its own
pytestmark = pytest.mark.filterwarnings('ignore:There is a performance drop')


def single_samples(model, inputs):
    """Mean absolute gradient of the squared norm, one sample at a time."""
    total = {n: torch.zeros_like(p) for n, p in model.named_parameters()}
    for i in range(len(inputs)):
        value = (model(inputs[i:i + 1])**2).sum()
        grads = torch.autograd.grad(
            value, list(model.parameters()), allow_unused=True)
        for name, grad in zip(total, grads, strict=True):
            if grad is not None:
                total[name] += grad.abs()
    return {n: t / len(inputs) for n, t in total.items()}


def planned(model, inputs):
    """Parameters read from the tape, and those left to the whole model."""
    gradients = PerSampleGradients(model.eval(), lambda m, x: m(x), SQUARE)
    gradients.sums(inputs, lambda outputs: [outputs])
    return set(gradients._layers), set(gradients._rest)


def check(model, inputs):
    model.eval()
    result, expected = mas_importance(model, [inputs]), single_samples(
        model, inputs)
    for name, value in expected.items():
        torch.testing.assert_close(
            result[name],
            value,
            rtol=1e-4,
            atol=1e-5 * value.max().item(),
            msg=name)


class ReusedLayer(nn.Module):

    def __init__(self):
        super().__init__()
        self.twice, self.head = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.twice(self.twice(x).relu()))


class TiedWeights(nn.Module):

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x).relu())


class FunctionalUse(nn.Module):
    """The layer's weight is used once more behind its back."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return F.linear(self.layer(x).tanh(), self.layer.weight.t())


class LooseParameter(nn.Module):

    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.randn(4))
        self.layer = nn.Linear(4, 3)

    def forward(self, x):
        return self.layer(x + self.shift)


class TokensFirst(nn.Module):
    """Tokens in front and samples second, as many as there are tokens."""

    def __init__(self):
        super().__init__()
        self.layer, self.norm = nn.Linear(4, 3), nn.LayerNorm(3)

    def forward(self, x):  # (B, L, 4)
        return self.norm(self.layer(x.transpose(0, 1))).sum(0)


class WeightNorm(nn.Module):

    def __init__(self):
        super().__init__()
        self.layer = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))

    def forward(self, x):
        return self.layer(x)


@pytest.mark.parametrize('make, shape, rest', [
    (ReusedLayer, (5, 4), {'twice.weight', 'twice.bias'}),
    (TiedWeights, (5, 4), {'first.weight', 'first.bias', 'second.bias'}),
    (FunctionalUse, (5, 4), {'layer.weight', 'layer.bias'}),
    (LooseParameter, (5, 4), {'shift'}),
    (TokensFirst, (6, 2, 4),
     {'layer.weight', 'layer.bias', 'norm.weight', 'norm.bias'}),
    (WeightNorm, (5, 4), None),
    (TokensFirst, (4, 4, 4), None),
])
def test_what_the_tape_cannot_explain_is_found(make, shape, rest):
    torch.manual_seed(0)
    model, inputs = make(), torch.randn(shape)
    check(model, inputs)
    if rest is not None:
        assert planned(model, inputs)[1] == rest


CONVS = [
    nn.Conv2d(4, 6, 3),
    nn.Conv2d(4, 6, 3, stride=2, padding=1, bias=False),
    nn.Conv2d(4, 6, (3, 1), padding=(2, 0), dilation=(2, 1)),
    nn.Conv2d(4, 6, 3, groups=2, padding=1),
    nn.Conv2d(4, 8, 3, groups=4, stride=(2, 1)),
    nn.Conv2d(4, 6, 1),
    nn.Conv2d(4, 6, 3, padding='same'),
    nn.Conv2d(4, 6, 3, padding=1, padding_mode='reflect'),
]
LAYERS = [
    nn.BatchNorm2d(4), nn.GroupNorm(2, 4), nn.LayerNorm([4, 7, 6]),
    nn.InstanceNorm2d(4, affine=True), nn.PReLU(4),
    nn.ConvTranspose2d(4, 3, 3, stride=2)
]


@pytest.mark.parametrize('layer', CONVS + LAYERS, ids=str)
def test_every_layer_is_read_from_the_tape(layer):
    torch.manual_seed(0)
    model = nn.Sequential(layer, nn.LeakyReLU(inplace=True))
    inputs = torch.randn(3, 4, 7, 6)
    check(model, inputs)
    assert planned(model, inputs) == ({'0'}, set())


def test_one_dimensional_convolution_and_embedding():
    check(nn.Sequential(nn.Conv1d(2, 3, 3)), torch.randn(3, 2, 8))
    check(
        nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(12, 2)),
        torch.randint(9, (5, 3)))


@pytest.mark.parametrize('batch_first', [True, False])
def test_attention(batch_first):
    class Encoder(nn.Module):

        def __init__(self):
            super().__init__()
            self.layer = nn.TransformerEncoderLayer(
                4, 2, 8, batch_first=batch_first)
            self.head = nn.Linear(4, 2)

        def forward(self, x):
            x = x if batch_first else x.transpose(0, 1)
            return self.head(self.layer(x)).mean(1 if batch_first else 0)

    torch.manual_seed(0)
    check(Encoder(), torch.randn(3, 3, 4))


def test_windows_folded_into_the_batch_are_unfolded():
    class Windows(nn.Module):

        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 3)

        def forward(self, x):  # (B, 6, 4) in windows of 2 tokens
            windows = self.layer(x.reshape(-1, 2, 4))
            return windows.reshape(len(x), -1, 3).tanh().sum(1)

    model, inputs = Windows(), torch.randn(3, 6, 4)
    check(model, inputs)
    assert planned(model, inputs)[0] == {'layer'}


def test_first_batch_of_one_sample_is_probed_again():
    torch.manual_seed(0)
    model, inputs = TokensFirst().eval(), torch.randn(4, 2, 4)
    result = mas_importance(model, [inputs[:1], inputs[1:]])
    for name, value in single_samples(model, inputs).items():
        torch.testing.assert_close(result[name], value, rtol=1e-4, atol=1e-6)


def test_operations_that_cannot_be_vectorised_are_looped_over():
    class Branching(nn.Module):

        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(3))

        def forward(self, x):
            if x.isnan().any():
                raise ValueError('NaN in the input')
            return self.scale * x

    model = Branching()
    inputs = torch.randn(4, 3)
    with pytest.warns(UserWarning, match='one by one'):
        check(model, inputs)


def test_model_that_changes_is_refused():
    class Fickle(nn.Module):

        def __init__(self):
            super().__init__()
            self.layer, self.passes = nn.Linear(3, 3), 0

        def forward(self, x):
            self.passes += 1
            return self.layer(x) if self.passes < 2 else self.layer(
                self.layer(x))

    with pytest.raises(RuntimeError, match='ran 2 times'):
        mas_importance(Fickle(), [torch.randn(2, 3)])


def test_chunks_cover_the_batch_within_the_budget():
    parts = list(chunks(10, 2**23))
    assert [part.stop - part.start for part in parts] == [4, 4, 2]
    assert [part.stop - part.start for part in chunks(2, 2**30)] == [1, 1]


@pytest.mark.parametrize('stat', [SQUARE, ABSOLUTE])
def test_statistics_are_multiplicative(stat):
    x, y = torch.randn(5), torch.randn(5)
    torch.testing.assert_close(stat.of(x * y), stat.of(x) * stat.of(y))
    total = torch.ones(5)
    stat.add_(total, x)
    torch.testing.assert_close(total, 1 + stat.of(x))
