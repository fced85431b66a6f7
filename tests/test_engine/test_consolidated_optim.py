"""A penalty inside the optimiser step, against autograd by hand."""
import copy
import functools
from types import SimpleNamespace

import pytest
import torch
from mmengine.optim import AmpOptimWrapper, OptimWrapper, OptimWrapperDict
from mmengine.optim.optimizer import amp_optimizer_wrapper
from torch import nn

from mmseg_spwc.consolidation import (
    EMAImportance,
    QuadraticPenalty,
    SIImportance,
)
from mmseg_spwc.engine.optim import CpuAmpOptimWrapper, consolidated
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.registry import build_part

LR = 0.1


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


@pytest.fixture
def tasks(model):
    generator = torch.Generator().manual_seed(1)

    def draw(p):
        return torch.rand(p.shape, generator=generator)

    return [(weight, {n: draw(p) for n, p in model.named_parameters()},
             {n: draw(p) for n, p in model.named_parameters()})
            for weight in (0.3, 0.8)]


def batch(seed, size=6):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(size, 3, generator=generator),
            torch.randint(2, (size, ), generator=generator))


def loss_of(model, data):
    return nn.functional.cross_entropy(model(data[0]), data[1])


def consolidate(model, wrapper):
    return consolidated(SimpleNamespace(model=model, optim_wrapper=wrapper))


def held(model, tasks, cls=OptimWrapper, update='gradient',
         optimizer=None, **options):
    optimizer = optimizer or torch.optim.SGD(
        model.parameters(), LR, momentum=0.9)
    wrapper = cls(optimizer=optimizer, **options)
    penalty = QuadraticPenalty()
    for task in tasks:
        penalty.add(*task)
    kind = build_part(update, 'update', object)
    kind.attach(penalty, optimizer)
    consolidate(model, wrapper).hold(dict(model.named_parameters()), kind)
    return wrapper


def penalty_by_hand(model, tasks):
    total = 0.
    for weight, importances, anchors in tasks:
        for name, param in model.named_parameters():
            total = total + weight * (
                importances[name] * (param - anchors[name])**2).sum()
    return total


def close(a, b, **kwargs):
    return all(
        torch.allclose(p, q, **kwargs)
        for p, q in zip(a.parameters(), b.parameters(), strict=True))


def test_gradient_update_is_sgd_on_loss_plus_penalty(model, tasks):
    other = copy.deepcopy(model)
    wrapper = held(model, tasks)
    sgd = torch.optim.SGD(other.parameters(), LR, momentum=0.9)
    for seed in range(4):
        wrapper.update_params(loss_of(model, batch(seed)))
        sgd.zero_grad()
        (loss_of(other, batch(seed)) + penalty_by_hand(other, tasks)
         ).backward()
        sgd.step()
    assert close(model, other, rtol=1e-5, atol=1e-6)


def test_accumulated_gradients_meet_the_penalty_once(model, tasks):
    other = copy.deepcopy(model)
    halves = [batch(0), batch(1)]
    wrapper = held(model, tasks, accumulative_counts=2)
    before = copy.deepcopy(model)
    wrapper.update_params(loss_of(model, halves[0]))
    assert close(model, before, rtol=0, atol=0)
    wrapper.update_params(loss_of(model, halves[1]))
    whole = tuple(torch.cat(parts) for parts in zip(*halves, strict=True))
    held(other, tasks).update_params(loss_of(other, whole))
    assert close(model, other, rtol=1e-5, atol=1e-6)


def test_clipping_sees_the_penalty(model, tasks):
    other = copy.deepcopy(model)
    wrapper = held(model, tasks, clip_grad=dict(max_norm=0.01))
    wrapper.update_params(loss_of(model, batch(0)))
    (loss_of(other, batch(0)) + penalty_by_hand(other, tasks)).backward()
    norm = torch.cat([p.grad.flatten() for p in other.parameters()]).norm()
    assert norm > 0.1
    with torch.no_grad():
        for p in other.parameters():
            p -= LR * p.grad * 0.01 / norm
    assert close(model, other, rtol=1e-4, atol=1e-7)


def test_proximal_update_is_the_closed_form_of_each_group(model, tasks):
    optimizer = torch.optim.SGD([
        dict(params=model[0].parameters(), lr=0.05, momentum=0.5),
        dict(params=[model[2].weight], lr=0.2, momentum=0.),
        dict(params=[model[2].bias], lr=0.2, momentum=0.),
    ])
    other = copy.deepcopy(model)
    wrapper = held(model, tasks, update='proximal', optimizer=optimizer)
    model[2].bias.requires_grad_(False)  # no gradient, no pull
    wrapper.update_params(loss_of(model, batch(0)))
    loss_of(other, batch(0)).backward()
    rates = {'0.weight': (0.05, 0.5), '0.bias': (0.05, 0.5),
             '2.weight': (0.2, 0.), '2.bias': None}
    for name, param in other.named_parameters():
        moved = dict(model.named_parameters())[name]
        if rates[name] is None:
            assert torch.equal(moved, param)
            continue
        lr, momentum = rates[name]
        for i in range(param.numel()):
            theta = (param - lr * param.grad).flatten()[i].item()
            # argmin of (x - theta)^2 (1 - beta) / (2 lr) + penalty(x)
            top, bottom = theta * (1 - momentum) / lr, (1 - momentum) / lr
            for weight, importances, anchors in tasks:
                strength = 2 * weight * importances[name].flatten()[i].item()
                top += strength * anchors[name].flatten()[i].item()
                bottom += strength
            assert moved.flatten()[i].item() == pytest.approx(
                top / bottom, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize('update', ['gradient', 'proximal'])
def test_huge_strength_is_stable_only_when_proximal(model, tasks, update):
    wrapper = held(model, [(1e4, *task[1:]) for task in tasks],
                   update=update)
    for seed in range(30):
        wrapper.update_params(loss_of(model, batch(seed)))
    finite = all(p.isfinite().all() and p.abs().max() < 10
                 for p in model.parameters())
    assert finite == (update == 'proximal')


class Watch:

    def before_update(self, params):
        self.grads = {n: p.grad.clone() for n, p in params.items()}
        self.start = {n: p.detach().clone() for n, p in params.items()}

    def after_update(self, params):
        self.change = {n: p - self.start[n] for n, p in params.items()}


@pytest.mark.parametrize('update', ['gradient', 'proximal'])
def test_observer_sees_the_losses_gradient_and_the_whole_change(
        model, tasks, update):
    wrapper, watch = held(model, tasks, update=update), Watch()
    before = copy.deepcopy(model)
    consolidate(model, wrapper).observe(
        dict(model.named_parameters()), watch)
    wrapper.update_params(loss_of(model, batch(0)))
    loss_of(before, batch(0)).backward()
    for name, param in before.named_parameters():
        assert torch.allclose(watch.grads[name], param.grad, atol=1e-7)
        after = dict(model.named_parameters())[name]
        assert torch.equal(watch.change[name], after - param)


def test_without_penalty_it_is_the_ordinary_wrapper(model):
    other = copy.deepcopy(model)
    for net in (model, other):
        wrapper = OptimWrapper(torch.optim.SGD(net.parameters(), LR),
                               clip_grad=dict(max_norm=0.1))
        if net is model:
            consolidate(net, wrapper)
        wrapper.update_params(loss_of(net, batch(0)))
    assert close(model, other, rtol=0, atol=0)


def test_cpu_amp_runs_in_bfloat16_and_injects_in_float32(model, tasks):
    other = copy.deepcopy(model)
    wrapper = held(model, tasks, CpuAmpOptimWrapper)
    with wrapper.optim_context(model):
        assert model(batch(0)[0]).dtype == torch.bfloat16
        loss = loss_of(model, batch(0))
    wrapper.update_params(loss)
    with torch.autocast('cpu', dtype=torch.bfloat16):
        loss = loss_of(other, batch(0))
    (loss + penalty_by_hand(other, tasks)).backward()
    torch.optim.SGD(other.parameters(), LR).step()
    assert close(model, other, rtol=1e-5, atol=1e-6)


@pytest.fixture
def pretend_accelerator(monkeypatch):
    if not hasattr(torch.amp, 'GradScaler'):
        pytest.skip('no loss scaler on a CPU before torch 2.3')
    scaler = functools.partial(torch.amp.GradScaler, 'cpu')
    monkeypatch.setattr(amp_optimizer_wrapper, 'is_cuda_available',
                        lambda: True)
    monkeypatch.setattr(amp_optimizer_wrapper, 'GradScaler', scaler)


@pytest.mark.parametrize('clip', [None, dict(max_norm=0.05)])
def test_amp_unscales_once_before_the_penalty(pretend_accelerator, model,
                                              tasks, clip):
    other = copy.deepcopy(model)
    wrapper = held(model, tasks, AmpOptimWrapper,
                   loss_scale=1024., clip_grad=copy.copy(clip))
    plain = held(other, tasks, clip_grad=copy.copy(clip))
    for seed in range(3):
        wrapper.update_params(loss_of(model, batch(seed)))
        plain.update_params(loss_of(other, batch(seed)))
    assert close(model, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize('update', ['gradient', 'proximal'])
def test_amp_overflow_skips_everything(pretend_accelerator, model, tasks,
                                       update):
    before, watch = copy.deepcopy(model), Watch()
    wrapper = held(model, tasks, AmpOptimWrapper, update)
    consolidate(model, wrapper).observe(
        dict(model.named_parameters()), watch)
    scale = wrapper.loss_scaler.get_scale()
    wrapper.update_params(loss_of(model, batch(0)) * float('inf'))
    assert close(model, before, rtol=0, atol=0)
    assert not hasattr(watch, 'grads')
    assert wrapper.loss_scaler.get_scale() == scale / 2


@pytest.mark.parametrize('overflow', [False, True])
@pytest.mark.parametrize('clip', [None, dict(max_norm=0.05)])
def test_a_fused_optimiser_gets_unscaled_gradients(
        pretend_accelerator, model, tasks, clip, overflow):
    """It unscales in its own step, where a penalty would be too late."""
    other, watch = copy.deepcopy(model), Watch()
    sgd = torch.optim.SGD(model.parameters(), LR, momentum=0.9, fused=True)
    wrapper = held(model, tasks, AmpOptimWrapper, optimizer=sgd,
                   loss_scale=1024., clip_grad=copy.copy(clip))
    plain = held(other, tasks, clip_grad=copy.copy(clip))
    consolidate(model, wrapper).observe(dict(model.named_parameters()), watch)
    for seed in range(3):
        wrapper.update_params(loss_of(model, batch(seed)))
        plain.update_params(loss_of(other, batch(seed)))
    assert close(model, other, rtol=1e-5, atol=1e-6)
    if overflow:
        del watch.grads
        wrapper.update_params(loss_of(model, batch(3)) * float('inf'))
        assert close(model, other, rtol=1e-5, atol=1e-6)
        assert not hasattr(watch, 'grads')


def test_several_optimisers_cannot_consolidate(model):
    wrapper = OptimWrapperDict(
        all=OptimWrapper(torch.optim.SGD(model.parameters(), LR)))
    with pytest.raises(ConfigError, match='OptimWrapperDict cannot consol'):
        consolidate(model, wrapper)


def test_an_update_that_is_skipped_leaves_path_integrals_alone(
        pretend_accelerator, model, tasks):
    """What SI and EMA gather, and the penalty itself."""
    params = dict(model.named_parameters())
    for importance in SIImportance(), EMAImportance():
        importance.begin(params, None, 0)
        wrapper = held(model, tasks, AmpOptimWrapper)
        consolidate(model, wrapper).observe(params, importance)
        wrapper.update_params(loss_of(model, batch(0)))
        before = copy.deepcopy(importance.state_dict())
        wrapper.update_params(loss_of(model, batch(1)) * float('inf'))
        after = importance.state_dict()
        assert all(torch.equal(after[n], t) for n, t in before.items())
        wrapper.update_params(loss_of(model, batch(2)))
        assert not all(torch.equal(importance.state_dict()[n], t)
                       for n, t in before.items())
