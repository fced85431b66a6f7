"""Losses of classifiers against loops over images, heads and channels."""
import math

import pytest
import torch
import torch.nn.functional as F

from mmseg_spwc.models.losses import (
    HeadDistillationLoss,
    TaskCrossEntropyLoss,
)

HEADS = [[(0, 4)], [(0, 1), (1, 3)], [(0, 2), (2, 2), (4, 3)]]


def draw(num_old, num_new=2, images=5):
    torch.manual_seed(0)
    shape = dict(dtype=torch.float64)
    logits = torch.randn(
        images, num_old + num_new, requires_grad=True, **shape)
    return logits, torch.randn(images, num_old, **shape)


def assert_same(got, expected, *tensors):
    torch.testing.assert_close(got, expected)
    torch.testing.assert_close(
        torch.autograd.grad(got, tensors, retain_graph=True),
        torch.autograd.grad(expected, tensors))


def loop_cross_entropy(logits, labels, allowed):
    total = 0
    for image, label, channels in zip(logits, labels, allowed, strict=True):
        p = {c: image[c].exp() for c in channels}
        total = total - (p[int(label)] / sum(p.values())).log()
    return total / len(logits)


@pytest.mark.parametrize('masked', [True, False])
def test_cross_entropy_by_loop(masked):
    logits, _ = draw(5)
    labels = torch.tensor([0, 3, 2, 6, 4])
    allowed = [range(7)] * 5
    mask = None
    if masked:
        allowed = [(0, 1), (2, 3, 4), (2, 3, 4), (5, 6), (4, )]
        mask = torch.tensor(
            [[c in channels for c in range(7)] for channels in allowed])
    loss = TaskCrossEntropyLoss(3.)(logits, labels, mask)
    expected = 3 * loop_cross_entropy(logits, labels, allowed)
    assert_same(loss, expected, logits)


def test_cross_entropy_without_mask_is_torchs():
    logits, _ = draw(5)
    labels = torch.tensor([0, 3, 2, 6, 4])
    everywhere = torch.ones(5, 7, dtype=torch.bool)
    expected = F.cross_entropy(logits, labels)
    for mask in (None, everywhere):
        loss = TaskCrossEntropyLoss()(logits, labels, mask)
        torch.testing.assert_close(loss, expected)


def test_a_class_by_chance_costs_the_logarithm_of_its_head():
    mask = torch.zeros(3, 100, dtype=torch.bool)
    mask[:, 20:40] = True
    labels = torch.tensor([20, 25, 39])
    loss = TaskCrossEntropyLoss()(torch.zeros(3, 100), labels, mask)
    assert loss.item() == pytest.approx(math.log(20))


def test_a_label_outside_its_head_costs_infinitely():
    mask = torch.tensor([[True, False]])
    loss = TaskCrossEntropyLoss()(torch.zeros(1, 2), torch.tensor([1]), mask)
    assert loss == math.inf


def test_wrong_inputs_of_cross_entropy():
    with pytest.raises(ValueError, match='one label an image'):
        TaskCrossEntropyLoss()(torch.zeros(2, 3), torch.zeros(2, 3))


def loop_distillation(logits, old_logits, heads, temperature):
    total = 0
    for b in range(len(logits)):
        for first, size in heads:
            channels = range(first, first + size)
            old = {c: (old_logits[b, c] / temperature).exp()
                   for c in channels}
            new = {c: (logits[b, c] / temperature).exp() for c in channels}
            for c in channels:
                q = old[c] / sum(old.values())
                total = total - q * (new[c] / sum(new.values())).log()
    return total / len(logits)


@pytest.mark.parametrize('heads', HEADS, ids=len)
@pytest.mark.parametrize('temperature', [1., 2.])
def test_distillation_by_loop(heads, temperature):
    logits, old_logits = draw(sum(size for _, size in heads))
    expected = loop_distillation(logits, old_logits, heads, temperature)
    loss = HeadDistillationLoss(temperature, loss_weight=10.)
    assert_same(
        loss(logits, old_logits, heads, 3), 10 * expected, logits)


def test_the_number_of_tasks_as_a_factor():
    logits, old_logits = draw(4)
    heads = [(0, 4)]
    plain = HeadDistillationLoss()(logits, old_logits, heads, 3)
    loss = HeadDistillationLoss(scale_by_tasks=True)
    torch.testing.assert_close(
        loss(logits, old_logits, heads, 3), 3 * plain)


def test_uniform_heads_cost_their_logarithms():
    loss = HeadDistillationLoss()(
        torch.zeros(3, 9), torch.zeros(3, 7), [(0, 5), (5, 2)], 2)
    assert loss.item() == pytest.approx(math.log(5) + math.log(2))


def test_new_logits_and_the_old_model_get_no_gradient():
    logits, old_logits = draw(4)
    old_logits.requires_grad_()
    loss = HeadDistillationLoss()(logits, old_logits, [(0, 4)], 1)
    loss.backward()
    assert (logits.grad[:, 4:] == 0).all() and old_logits.grad is None
    assert (logits.grad[:, :4] != 0).any()


def test_wrong_inputs_of_distillation():
    loss = HeadDistillationLoss()
    with pytest.raises(ValueError, match='3 channels.*previous model 4'):
        loss(torch.zeros(1, 6), torch.zeros(1, 4), [(0, 3)], 1)
    with pytest.raises(ValueError, match='current one 3'):
        loss(torch.zeros(1, 3), torch.zeros(1, 4), [(0, 4)], 1)
    with pytest.raises(ValueError, match='temperature'):
        HeadDistillationLoss(temperature=0.)
