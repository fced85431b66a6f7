import copy

import pytest
import torch
from mmseg.models.backbones import ResNet
from rc_networks import (
    NETWORKS,
    SharedNorm,
    assert_near,
    network,
    randomise,
    run,
)
from torch import nn

from mmseg_spwc.models.rc import (
    add_branches,
    export_branches,
    import_branches,
    merge_branches,
)
from mmseg_spwc.models.rc_layers import DoubledConv, FusedNorm


@pytest.fixture(params=NETWORKS)
def case(request):
    return network(request.param)


def test_doubled_network_starts_as_the_plain_one(case):
    net, match = case
    before = run(net)
    assert not export_branches(net)
    assert add_branches(net, match) is net
    assert export_branches(net)
    torch.testing.assert_close(run(net), before)


def test_merge_keeps_the_function_and_restores_the_tree(case):
    net, match = case
    plain = copy.deepcopy(net)
    add_branches(net, match, frozen=False)
    randomise(net)
    before = run(net)
    assert merge_branches(net) is net
    assert not export_branches(net)
    assert_near(run(net), before)
    assert str(net) == str(plain)
    assert [n for n, _ in net.named_parameters()
            ] == [n for n, _ in plain.named_parameters()]
    plain.load_state_dict(net.state_dict(), strict=True)
    assert_near(run(plain), before)


def test_merge_of_equal_branches_gives_the_plain_tensors_back(case):
    net, match = case
    before = copy.deepcopy(net.state_dict())
    merge_branches(add_branches(net, match))
    after = net.state_dict()
    assert list(after) == list(before)
    for name, value in before.items():
        if 'wide' not in name or 'bias' not in name:
            continue
        # a bias before a norm moves into the mean
        mean = {'wide.0.bias': slice(0, 2), 'wide.1.bias': slice(2, 5)}[name]
        before['norm.running_mean'][mean] -= value
        before[name] = torch.zeros_like(value)
    if 'stem.0.bias' in before and match is None:
        before['stem.1.running_mean'] -= before['stem.0.bias']
        before['stem.0.bias'] = torch.zeros(4)
    for name, value in before.items():
        torch.testing.assert_close(after[name], value, msg=name)


def test_frozen_branch_stays(case):
    net, match = case
    add_branches(net, match)
    net.train()
    before = copy.deepcopy(net.state_dict())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, weight_decay=0.1)
    torch.manual_seed(1)
    out = net(torch.randn(4, 3, 64, 64))
    out = out[-1] if isinstance(out, tuple) else out
    out.square().sum().backward()
    optimizer.step()
    after = net.state_dict()
    parts = [(n, m) for n, m in net.named_modules()
             if isinstance(m, DoubledConv | FusedNorm)]
    for name, part in parts:
        for key in part.old.state_dict():
            key = f'{name}.old.{key}'
            assert torch.equal(after[key], before[key]), key
        for key in part.new.state_dict():
            key = f'{name}.new.{key}'
            assert not torch.equal(after[key], before[key]), key


def test_both_branches_train_at_the_first_step():
    net = add_branches(SharedNorm(), frozen=False)
    net(torch.randn(4, 3, 8, 8)).square().sum().backward()
    assert all(p.requires_grad for p in net.parameters())
    assert net.norm.old.training and net.norm.new.training
    assert net.stem[0].old.weight.grad.abs().sum() > 0


def test_what_is_frozen_stays_frozen_at_the_first_step():
    net = SharedNorm()
    net.stem.requires_grad_(False)
    add_branches(net, frozen=False)
    assert not any(p.requires_grad for p in net.stem.parameters())
    assert all(p.requires_grad for p in net.wide.parameters())


def test_merge_gives_back_what_trains():
    net = add_branches(SharedNorm(), 'wide')
    net.stem.requires_grad_(False)
    merge_branches(net.train())
    assert all(p.requires_grad for p in net.wide.parameters())
    assert net.norm.training and net.norm.weight.requires_grad
    assert not net.stem[0].weight.requires_grad


def test_evaluation_draws_nothing():
    net = add_branches(SharedNorm()).eval()
    state = torch.get_rng_state()
    net(torch.randn(1, 3, 8, 8, generator=torch.Generator()))
    assert torch.equal(torch.get_rng_state(), state)


def test_checkpointed_blocks_draw_the_same_channels_twice():
    gradients = []
    for with_cp in (False, True):
        torch.manual_seed(0)
        net = ResNet(18, stem_channels=4, base_channels=4, with_cp=with_cp)
        net.train()
        add_branches(net, r'\.conv2$')
        randomise(net)
        x = torch.randn(2, 3, 64, 64)
        net(x)[-1].square().sum().backward()
        gradients.append([p.grad for p in net.parameters()
                          if p.requires_grad])
    for plain, recomputed in zip(*gradients, strict=True):
        torch.testing.assert_close(plain, recomputed)


def test_carried_branch_gives_a_quarter_and_three_quarters():
    net = add_branches(SharedNorm().eval())
    randomise(net)
    x = torch.randn(2, 3, 9, 9)
    stem = [n(c(x)) for c, n in ((net.stem[0].old, net.stem[1].old),
                                 (net.stem[0].new, net.stem[1].new))]
    branches = export_branches(net)
    assert set(branches) == set(SharedNorm().state_dict())
    merge_branches(net)
    add_branches(net, init='carry', branches=branches)
    assert_near(net.stem(x), stem[0] / 4 + 3 * stem[1] / 4)
    maps = net.stem(x)
    old, new = (norm(torch.cat([getattr(c, b)(maps) for c in net.wide], 1))
                for b, norm in (('old', net.norm.old), ('new', net.norm.new)))
    assert_near(net(x), (old + new) / 2)
    torch.testing.assert_close(net.wide[1].new.weight,
                               branches['wide.1.weight'])


def test_independent_kernels_keep_the_spread():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(64, 64, 3, bias=False), nn.BatchNorm2d(64))
    add_branches(net, frozen=False, init='independent')
    old, new = net[0].old.weight, net[0].new.weight
    assert new.std().item() == pytest.approx(old.std().item(), rel=0.02)
    correlation = torch.corrcoef(torch.stack([old.flatten(), new.flatten()]))
    assert abs(correlation[0, 1]) < 0.02


@pytest.mark.parametrize(
    'kwargs, message',
    [(dict(match='nothing'), 'no convolution'),
     (dict(match=r'wide\.0'), r'wide\.1'),
     (dict(init='random'), 'init must be'),
     (dict(init='carry'), 'needs the branches'),
     (dict(branches={}), 'no other init')])
def test_wrong_arguments(kwargs, message):
    with pytest.raises(ValueError, match=message):
        add_branches(SharedNorm(), **kwargs)


def test_branches_of_another_network():
    net = add_branches(SharedNorm())
    with pytest.raises(KeyError, match=r'stem\.0'):
        import_branches(net, {})


def test_predicate_and_second_call():
    net = add_branches(SharedNorm(), lambda name: name == 'stem.0')
    assert isinstance(net.stem[0], DoubledConv)
    add_branches(net, 'wide')  # what is doubled already is left alone
    assert isinstance(net.stem[0].old, nn.Conv2d)
    assert isinstance(net.norm, FusedNorm)
