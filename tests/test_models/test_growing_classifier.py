"""Growing classifiers: growth, initialisation, surgery."""
import mmseg_spwc  # noqa: F401, I001  (before mmseg)

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mmseg.models.decode_heads import (ASPPHead, FCNHead, SegformerHead,
                                       SegmenterMaskTransformerHead)
from torch import nn

from mmseg_spwc.models.css_head import DeepLabV3CSSHead
from mmseg_spwc.models.growing import GrowingClassifier, grow_head

steps = st.tuples(
    st.integers(1, 5), st.lists(st.integers(0, 3), max_size=4)).map(
        lambda pair: (pair[0], *pair[1]))


@settings(deadline=None, max_examples=25)
@given(steps)
def test_equals_one_convolution(channels):
    grown = GrowingClassifier(3, channels)
    x = torch.randn(2, 3, 4, 5)
    conv = grown.to_conv()
    assert type(conv) is nn.Conv2d
    assert grown.out_channels == conv.out_channels == sum(channels)
    assert len(grown.convs) == sum(c > 0 for c in channels)
    torch.testing.assert_close(grown(x), conv(x))
    assert grown.channels == tuple(channels)


def test_a_step_keeps_the_parameters_of_the_steps_before():
    before, after = GrowingClassifier(3, (11, 1)), GrowingClassifier(
        3, (11, 1, 1))
    shapes = {k: v.shape for k, v in after.state_dict().items()}
    for key, value in before.state_dict().items():
        assert shapes[key] == value.shape
    assert len(shapes) == len(before.state_dict()) + 2


def test_a_domain_step_adds_no_parameter():
    before, after = GrowingClassifier(3, (19, )), GrowingClassifier(
        3, (19, 0, 0))
    assert after.state_dict().keys() == before.state_dict().keys()
    after.load_state_dict(before.state_dict())
    for policy in GrowingClassifier.policies:
        share = 0.1 if policy == 'share' else None
        after.initialise_new(policy, share=share)
    for key, value in before.state_dict().items():
        assert torch.equal(after.state_dict()[key], value)


@settings(deadline=None, max_examples=25)
@given(steps, st.integers(1, 4), st.data())
def test_balanced_init_shares_the_background_out_exactly(old, new, data):
    background = data.draw(st.integers(0, sum(old) - 1))
    before = GrowingClassifier(3, old).double()
    after = GrowingClassifier(3, (*old, new)).double()
    after.load_state_dict(before.state_dict(), strict=False)
    after.initialise_new('balanced', background)

    x = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    q, p = before(x).softmax(1), after(x).softmax(1)
    num_old = sum(old)
    shares = [p[:, background], *p[:, num_old:].unbind(1)]
    torch.testing.assert_close(sum(shares), q[:, background])
    for share in shares:
        torch.testing.assert_close(share, q[:, background] / (new + 1))
    others = [c for c in range(num_old) if c != background]
    torch.testing.assert_close(p[:, others], q[:, others])


@settings(deadline=None, max_examples=25)
@given(steps, st.integers(1, 4), st.floats(0.001, 0.999), st.data())
def test_new_channels_get_the_share_they_are_given(old, new, share, data):
    background = data.draw(st.integers(0, sum(old) - 1))
    before = GrowingClassifier(3, old).double()
    after = GrowingClassifier(3, (*old, new)).double()
    after.load_state_dict(before.state_dict(), strict=False)
    after.initialise_new('share', background, share)

    x = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    q, p = before(x).softmax(1), after(x).softmax(1)
    num_old = sum(old)
    left = (1 - share) * q[:, background]
    torch.testing.assert_close(p[:, background], left)
    for channel in p[:, num_old:].unbind(1):
        torch.testing.assert_close(channel, share / new * q[:, background])
    others = [c for c in range(num_old) if c != background]
    torch.testing.assert_close(p[:, others], q[:, others])


def test_the_balanced_share_is_balanced():
    even, shared = GrowingClassifier(3, (4, 2)), GrowingClassifier(3, (4, 2))
    shared.load_state_dict(even.state_dict())
    even.initialise_new('balanced')
    shared.initialise_new('share', share=2 / 3)
    for key, value in even.state_dict().items():
        torch.testing.assert_close(shared.state_dict()[key], value)


def test_the_share_by_index_is_one_over_the_classes_so_far():
    before = GrowingClassifier(3, (5, 1)).double()
    after = GrowingClassifier(3, (5, 1, 2)).double()
    after.load_state_dict(before.state_dict(), strict=False)
    after.initialise_new('index')
    x = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    q, p = before(x).softmax(1), after(x).softmax(1)
    torch.testing.assert_close(p[:, 0], q[:, 0] * 6 / 8)
    for channel in (6, 7):
        torch.testing.assert_close(p[:, channel], q[:, 0] / 8)
    torch.testing.assert_close(p[:, 1:6], q[:, 1:])


@pytest.mark.parametrize('policy, share', [
    ('index', 0.05), ('share', None), ('share', 0.), ('share', 1.),
    ('balanced', 0.5)])
def test_a_share_goes_with_its_policy_and_lies_between_0_and_1(policy, share):
    with pytest.raises(ValueError, match='share'):
        GrowingClassifier(3, (4, 2)).initialise_new(policy, share=share)


def test_balanced_init_by_the_letter():
    grown = GrowingClassifier(3, (4, 2))
    weight = grown.convs[0].weight[0].clone()
    bias = grown.convs[0].bias.clone()
    grown.initialise_new('balanced')
    shifted = bias[0].item() - math.log(3)
    assert grown.convs[0].bias[0].item() == pytest.approx(shifted)
    assert torch.equal(grown.convs[0].bias[1:], bias[1:])
    for k in range(2):
        assert torch.equal(grown.convs[1].weight[k], weight)
        assert grown.convs[1].bias[k].item() == pytest.approx(shifted)


def test_background_init_copies_weights_and_leaves_biases():
    grown = GrowingClassifier(3, (4, 2, 3))
    before = {k: v.clone() for k, v in grown.state_dict().items()}
    grown.initialise_new('background', background=5)  # second of step 1
    after = grown.state_dict()
    changed = [k for k in before if not torch.equal(after[k], before[k])]
    assert changed == ['convs.2.weight']
    for k in range(3):
        assert torch.equal(after['convs.2.weight'][k],
                           before['convs.1.weight'][1])


def test_default_keeps_and_zero_clears_the_new_channels():
    grown = GrowingClassifier(3, (4, 2))
    before = {k: v.clone() for k, v in grown.state_dict().items()}
    grown.initialise_new('default')
    for key, value in grown.state_dict().items():
        assert torch.equal(value, before[key])
    grown.initialise_new('zero')
    assert not grown.convs[1].weight.any()
    assert not grown.convs[1].bias.any()
    assert torch.equal(grown.convs[0].weight, before['convs.0.weight'])


def test_the_first_step_has_nothing_new():
    grown = GrowingClassifier(3, (4, ))
    before = grown.convs[0].weight.clone()
    grown.initialise_new('zero')
    assert torch.equal(grown.convs[0].weight, before)


def test_initialised_parameters_still_train():
    grown = GrowingClassifier(3, (4, 2))
    grown.initialise_new('balanced')
    grown(torch.randn(2, 3, 4, 4)).square().sum().backward()
    assert all(p.is_leaf and p.grad.any() for p in grown.parameters())


@pytest.mark.parametrize('channels', [(), (0, 1), (2, -1)])
def test_impossible_channels_are_refused(channels):
    with pytest.raises(ValueError, match='channels'):
        GrowingClassifier(3, channels)


def test_bad_arguments_are_explained():
    grown = GrowingClassifier(3, (4, 2))
    with pytest.raises(ValueError, match="'balanced'.*'zero'"):
        grown.initialise_new('mib')
    with pytest.raises(ValueError, match='background channel 4'):
        grown.initialise_new('balanced', background=4)


HEADS = [
    (DeepLabV3CSSHead, {'in_channels': 6, 'channels': 4}),
    (ASPPHead, {'in_channels': 6, 'channels': 4, 'dilations': (1, 2)}),
    (FCNHead, {'in_channels': 6, 'channels': 4}),
    (SegformerHead, {'in_channels': [6, 6], 'in_index': [0, 1],
                     'channels': 4}),
]


@pytest.mark.parametrize('head_type, kwargs', HEADS)
def test_any_pixel_head_can_grow(head_type, kwargs):
    head = head_type(num_classes=3, norm_cfg={'type': 'BN'}, **kwargs)
    grown = grow_head(head, (3, 0, 2))
    assert head.conv_seg is grown
    assert head.num_classes == head.out_channels == 5
    head.init_weights()
    maps = [torch.randn(2, 6, 8, 8)] * 2
    assert head(maps).shape == (2, 5, 8, 8)


def test_mmsegs_initialisation_reaches_the_grown_classifier():
    head = FCNHead(in_channels=64, channels=64, num_classes=3)
    grown = grow_head(head, (40, 40))
    head.init_weights()
    for conv in grown.convs:
        # Normal(std=0.01) with bias 0, not torch's default
        assert conv.weight.std().item() == pytest.approx(0.01, rel=0.1)
        assert not conv.bias.any()


def test_a_head_can_grow_again():
    head = FCNHead(in_channels=4, channels=4, num_classes=3)
    grow_head(head, (3, 1))
    assert grow_head(head, (3, 1, 1)).channels == (3, 1, 1)
    assert head.num_classes == 5


def test_a_head_without_pixel_classifier_is_named():
    head = SegmenterMaskTransformerHead(
        in_channels=8, channels=8, num_classes=3, num_layers=1, num_heads=1,
        embed_dims=8)
    with pytest.raises(TypeError, match='SegmenterMaskTransformerHead'):
        grow_head(head, (3, 1))
