"""Growing linear layers: growth, initialisation, surgery of heads."""
import mmseg_spwc  # noqa: F401, I001  (before mmpretrain)

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mmpretrain.models.heads import (
    ArcFaceClsHead,
    ClsHead,
    DeiTClsHead,
    LinearClsHead,
    StackedLinearClsHead,
    VisionTransformerClsHead,
)
from torch import nn

from mmseg_spwc.models.growing import GrowingLinear, grow_linear

LOSS = dict(type='mmpretrain.CrossEntropyLoss')

steps = st.tuples(
    st.integers(1, 5), st.lists(st.integers(0, 3), max_size=4)).map(
        lambda pair: (pair[0], *pair[1]))


@settings(deadline=None, max_examples=25)
@given(steps)
def test_equals_one_linear_layer(channels):
    grown = GrowingLinear(3, channels)
    x = torch.randn(4, 3)
    weight = torch.cat([linear.weight for linear in grown.linears])
    bias = torch.cat([linear.bias for linear in grown.linears])
    assert grown.out_features == sum(channels)
    assert len(grown.linears) == sum(c > 0 for c in channels)
    expected = (x[:, None] * weight).sum(2) + bias
    torch.testing.assert_close(grown(x), expected)
    torch.testing.assert_close(grown.fused(x), expected)


def test_both_ways_have_the_same_gradients():
    grown, x = GrowingLinear(3, (2, 4, 1)), torch.randn(5, 3)
    grown.linears[0].requires_grad_(False)
    factor = torch.randn(5, 7)
    trained = [p for p in grown.parameters() if p.requires_grad]
    one, other = (
        torch.autograd.grad((logits * factor).sum(), trained)
        for logits in (grown(x), grown.fused(x)))
    assert len(one) == 4
    torch.testing.assert_close(one, other)


def test_a_step_keeps_the_parameters_of_the_steps_before():
    before, after = GrowingLinear(3, (5, 1)), GrowingLinear(3, (5, 1, 2))
    shapes = {k: v.shape for k, v in after.state_dict().items()}
    for key, value in before.state_dict().items():
        assert shapes[key] == value.shape
    assert shapes.keys() - before.state_dict().keys() == {
        'linears.2.weight', 'linears.2.bias'}


@pytest.mark.parametrize('channels', [(4, ), (4, 0, 0)])
@pytest.mark.parametrize('policy', GrowingLinear.policies)
def test_without_new_channels_nothing_is_initialised(channels, policy):
    grown = GrowingLinear(3, channels)
    before = [p.clone() for p in grown.parameters()]
    grown.initialise_new(policy)
    assert all(map(torch.equal, grown.parameters(), before))


@settings(deadline=None, max_examples=20)
@given(steps, st.integers(1, 4), st.sampled_from(GrowingLinear.policies))
def test_policies_touch_the_new_channels_only(channels, added, policy):
    grown = GrowingLinear(3, (*channels, added))
    before = [p.clone() for p in grown.parameters()]
    grown.initialise_new(policy)
    *old, weight, bias = grown.parameters()
    assert all(map(torch.equal, old, before))
    assert (weight.shape, bias.shape) == ((added, 3), (added, ))
    x = torch.randn(2, 3)
    logits = grown(x)
    kept, new = logits[:, :-added], logits[:, -added:]
    if policy == 'default':
        assert torch.equal(weight, before[-2])
    if policy == 'torch':  # uniform within 1 / sqrt(in_features)
        assert not torch.equal(weight, before[-2])
        assert weight.abs().max() <= 3**-0.5
    if policy == 'zero':
        assert (new == 0).all()
    if policy == 'balanced':
        torch.testing.assert_close(
            new, kept.mean(1, keepdim=True).expand_as(new))


@pytest.mark.parametrize('channels', [(), (0, 3), (3, -1)])
def test_wrong_channels(channels):
    with pytest.raises(ValueError, match='channels'):
        GrowingLinear(3, channels)


def test_wrong_policy():
    with pytest.raises(ValueError, match="'background'.*balanced"):
        GrowingLinear(3, (2, 1)).initialise_new('background')


@pytest.mark.parametrize('head', [
    LinearClsHead(9, 6, loss=LOSS),
    VisionTransformerClsHead(9, 6, loss=LOSS),
    VisionTransformerClsHead(9, 6, hidden_dim=5, loss=LOSS),
    StackedLinearClsHead(9, 6, mid_channels=[9, 5], loss=LOSS),
], ids=['linear', 'vit', 'vit-hidden', 'stacked'])
def test_heads_of_mmpretrain_grow(head):
    hidden = {n for n, m in head.named_modules() if isinstance(m, nn.Linear)}
    grown = grow_linear(head, (3, 2))
    feats = (torch.randn(4, 6), )
    logits = head(feats)
    assert logits.shape == (4, 5) and head.num_classes == 5
    torch.testing.assert_close(grown(head.pre_logits(feats)), logits)
    left = {n for n, m in head.named_modules() if type(m) is nn.Linear
            and 'linears' not in n}
    assert len(left) == len(hidden) - 1


@pytest.mark.parametrize('head', [
    ClsHead(loss=LOSS),
    DeiTClsHead(9, 6, loss=LOSS),
    ArcFaceClsHead(9, 6, loss=LOSS),
    nn.Linear(6, 9),
], ids=['none', 'two', 'product', 'plain'])
def test_other_heads_are_refused(head):
    with pytest.raises(TypeError, match='does not end in one linear layer'):
        grow_linear(head, (3, 2))
