"""Folded branches compute what doubled ones do."""
import copy

import pytest
import torch
from rc_networks import NETWORKS, SharedNorm, network, randomise, run
from torch import nn

from mmseg_spwc.models.rc import (
    add_branches,
    export_branches,
    merge_branches,
)
from mmseg_spwc.models.rc_layers import (
    DoubledConv,
    FoldedConv,
    FoldedNorm,
    FusedNorm,
)


@pytest.fixture(params=NETWORKS)
def case(request):
    return network(request.param)


def train_pass(net, seed):
    """Output, gradients and state after one pass in training mode."""
    torch.manual_seed(seed)
    net.train()
    net.zero_grad()
    x = torch.randn(2, 3, 64, 64).double().requires_grad_()
    out = net(x)
    out = out[-1] if isinstance(out, tuple) else out
    (out * torch.randn_like(out)).sum().backward()
    grads = {n: p.grad for n, p in net.named_parameters()
             if p.grad is not None}
    return out, x.grad, grads, net.state_dict()


def evaluated(net):
    net.float().eval()
    return net


def test_folded_branches_train_as_doubled_ones(case):
    net, match = case
    net.double()
    folded = add_branches(copy.deepcopy(net), match, folded=True)
    doubled = add_branches(net, match)
    assert any(isinstance(m, FoldedNorm) for m in folded.modules())
    randomise(doubled)
    folded.load_state_dict(doubled.state_dict())
    for seed in range(2):
        torch.testing.assert_close(
            train_pass(folded, seed), train_pass(doubled, seed),
            rtol=1e-5, atol=1e-6)  # norms of few pixels enlarge rounding
    torch.testing.assert_close(
        *(run(evaluated(net)) for net in (folded, doubled)))
    assert export_branches(folded).keys() == export_branches(doubled).keys()
    merge_branches(folded), merge_branches(doubled)
    assert str(folded) == str(doubled)
    torch.testing.assert_close(folded.state_dict(), doubled.state_dict())


def test_branches_that_both_train_are_not_folded(case):
    net, match = case
    add_branches(net, match, frozen=False, folded=True)
    assert not any(isinstance(m, FoldedNorm) for m in net.modules())


def test_a_copy_of_a_folded_network_has_norms_of_its_own(case):
    net, match = case
    add_branches(net, match, folded=True)
    other = copy.deepcopy(net)
    norms = set(map(id, other.modules()))
    assert all(id(m.norm) in norms for m in other.modules()
               if isinstance(m, FoldedConv))


def test_folded_branches_under_autocast():
    torch.manual_seed(0)
    net = add_branches(SharedNorm(), 'wide', folded=True).train()
    with torch.autocast('cpu', torch.bfloat16):
        out = net(torch.randn(2, 3, 8, 8))
    out.float().sum().backward()
    assert out.isfinite().all()
    assert net.wide[0].new.weight.grad.isfinite().all()


def kinds(net):
    return {type(m).__name__ for m in net.modules()
            if isinstance(m, DoubledConv | FusedNorm)}


def test_frozen_branches_are_folded_only_on_request():
    assert kinds(add_branches(SharedNorm(), folded=False)) == {
        'DoubledConv', 'FusedNorm'}


def test_convolutions_of_another_kind_are_not_folded():
    """They may compute something else than their kernel."""

    class Scaled(nn.Conv2d):

        def forward(self, x):
            return 2 * super().forward(x)

    net = SharedNorm()
    net.wide[0] = Scaled(4, 2, 1)
    add_branches(net, 'wide', folded=True)
    assert kinds(net) == {'DoubledConv', 'FusedNorm'}
