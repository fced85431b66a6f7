import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mmseg_spwc.models.css_head import DeepLabV3CSSHead
from mmseg_spwc.models.rc import add_branches, merge_branches
from mmseg_spwc.models.rc_layers import _ConstantNorm, draw_shares


@torch.no_grad()
def randomise(net):
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d):
            layer.weight += 0.05 * torch.randn_like(layer.weight)
        if isinstance(layer, nn.BatchNorm2d):
            layer.weight.normal_()
            layer.bias.normal_()
            layer.running_mean.normal_()
            layer.running_var.uniform_(0.5, 2)


def assert_near(got, expected):
    assert (got - expected).norm() < 1e-5 * expected.norm()


@settings(deadline=None, max_examples=20)
@given(
    st.sampled_from([1, 2, 4]), st.sampled_from([1, 3]),
    st.integers(1, 2), st.integers(1, 2), st.booleans(),
    st.floats(1e-5, 0.1))
def test_merge_of_any_convolution(groups, side, stride, dilation, bias, eps):
    net = nn.Sequential(
        nn.Conv2d(4, 8, side, stride, 1, dilation, groups, bias),
        nn.BatchNorm2d(8, eps=eps)).eval()
    add_branches(net)
    randomise(net)
    with torch.no_grad():
        net[1].old.weight[0] = net[1].new.weight[0] = 0  # a dead channel
    x = torch.randn(2, 4, 9, 9)
    # the definition: half the sum of both branches
    expected = sum(
        norm(conv(x)) for conv, norm in ((net[0].old, net[1].old),
                                         (net[0].new, net[1].new))) / 2
    torch.testing.assert_close(net(x), expected)
    assert_near(merge_branches(net)(x), expected)
    assert (net[0].bias is None) == (not bias)


def test_merged_statistics_are_those_of_the_merged_map():
    """So that the norm does in training mode what it does in evaluation."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6, momentum=1.))
    add_branches(net, frozen=False, init='independent')
    randomise(net)
    x = torch.randn(64, 4, 20, 20)
    net.train()(x)  # momentum 1: the statistics are those of this batch
    merge_branches(net.eval())
    fused = net(x)
    torch.testing.assert_close(net.train()(x), fused, rtol=0.05, atol=0.05)


def test_training_fuses_by_drawn_channels():
    net = nn.Sequential(nn.Conv2d(3, 500, 1), nn.BatchNorm2d(500))
    add_branches(net)
    randomise(net)
    net.train()
    x = torch.randn(2, 3, 5, 5)
    torch.manual_seed(7)
    fused = net(x)
    torch.manual_seed(7)
    draws = torch.rand(500)
    old, new = (norm(conv(x)) for conv, norm in ((net[0].old, net[1].old),
                                                 (net[0].new, net[1].new)))
    for c, draw in enumerate(draws):
        share = 1 if draw < 0.33 else 0 if draw < 0.66 else 0.5
        torch.testing.assert_close(
            fused[:, c], share * old[:, c] + (1 - share) * new[:, c])


def test_shares():
    torch.manual_seed(0)
    shares = draw_shares(30000)
    for value, probability in ((1, 0.33), (0, 0.33), (0.5, 0.34)):
        assert (shares == value).float().mean() == pytest.approx(
            probability, abs=0.01)


def test_literature_head_merges():
    torch.manual_seed(0)
    head = DeepLabV3CSSHead(8, 4, num_classes=3).eval()
    add_branches(head, 'aspp_convs')
    randomise(head)
    x = [torch.randn(2, 8, 16, 16)]
    before = head(x)
    assert_near(merge_branches(head)(x), before)


@pytest.mark.parametrize('bias', [False, True])
def test_a_frozen_branch_keeps_no_map_and_passes_the_same_gradient(bias):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 6, 3, bias=bias), nn.BatchNorm2d(6))
    add_branches(net)
    randomise(net)
    x = torch.randn(4, 3, 9, 9, requires_grad=True)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(
            lambda t: kept.append(t) or t, lambda t: t):
        net[1].old.weight.requires_grad_(False)
        old = net[0].old(x)
        kept.clear()
        ours = _ConstantNorm.apply(old, net[1].old)
    assert not any(t.shape == old.shape for t in kept)
    theirs = net[1].old(old)
    assert torch.equal(ours, theirs)
    seed = torch.randn_like(ours)
    assert torch.equal(*(torch.autograd.grad(
        y, x, seed, retain_graph=True)[0] for y in (ours, theirs)))
