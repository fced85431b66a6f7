"""What runs again in the backward pass changes no number."""
import copy

import pytest
import torch
from mmseg.models.backbones import ResNet
from torch import nn

from mmseg_spwc.models import recompute as module
from mmseg_spwc.models.backbones import LeakyResNet
from mmseg_spwc.models.losses import (
    PooledCubeLoss,
    UnbiasedCrossEntropyLoss,
    UnbiasedDistillationLoss,
)
from mmseg_spwc.models.rc import add_branches
from mmseg_spwc.models.recompute import called_frugally, recompute


def trained(pattern, kind=LeakyResNet):
    """Outputs, gradients and state after two passes of a network."""
    torch.manual_seed(0)
    net = kind(18, stem_channels=4, base_channels=4)
    add_branches(net, r'\.conv2$')
    net.train()
    for name, part in net.named_modules():
        if pattern and name.startswith(pattern) and name.count('.') == 1:
            recompute(part)
    results = []
    for seed in range(2):
        torch.manual_seed(seed)
        out = net(torch.randn(2, 3, 64, 64))
        sum(x.square().sum() for x in out).backward()
        results += out
    grads = [p.grad for p in net.parameters() if p.grad is not None]
    return [*results, *grads, *net.state_dict().values(), torch.rand(1)]


@pytest.mark.parametrize('kind', [LeakyResNet, ResNet])
def test_blocks_that_run_again_train_as_they_did(kind):
    again, plain = trained('layer', kind), trained(None, kind)
    assert len(again) == len(plain)
    assert all(map(torch.equal, again, plain))


def test_a_copy_runs_its_own_weights_again():
    net = nn.Sequential(nn.Linear(3, 3))
    recompute(net[0])
    other = copy.deepcopy(net)
    other[0].weight.data.zero_(), other[0].bias.data.zero_()
    assert not other(torch.ones(1, 3)).any()
    other(torch.ones(1, 3)).sum().backward()
    assert other[0].weight.grad.all() and net[0].weight.grad is None


@pytest.mark.parametrize('loss, maps', [
    (UnbiasedCrossEntropyLoss(), False), (UnbiasedDistillationLoss(), False),
    (PooledCubeLoss(), True)])
def test_frugal_losses_are_the_same(loss, maps, monkeypatch):
    torch.manual_seed(0)
    given = dict(
        features=[torch.randn(2, 4, 16, 16, requires_grad=True),
                  torch.randn(2, 6, 9, 9, requires_grad=True)],
        old_features=[torch.randn(2, 4, 16, 16), torch.randn(2, 4, 9, 9)],
        num_new=2) if maps else dict(
            logits=torch.randn(2, 6, 9, 9, requires_grad=True))
    if isinstance(loss, UnbiasedCrossEntropyLoss):
        given.update(labels=torch.randint(0, 6, (2, 9, 9)), num_old=4)
    elif not maps:
        given['old_logits'] = torch.randn(2, 4, 9, 9)
    inputs = given['features'] if maps else [given['logits']]

    def result():
        value = called_frugally(loss, **given)
        total = sum(value.values()) if maps else value
        return [total, *torch.autograd.grad(total, inputs)]

    kept = result()
    monkeypatch.setattr(module, '_on_cpu', lambda quantities: False)
    assert all(map(torch.equal, kept, result()))
