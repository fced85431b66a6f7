import math

import pytest
import torch

from mmseg_spwc.models.losses import DistillationLoss, UnbiasedDistillationLoss


def brute_force(logits, old_logits, weight=None):
    total, num_old = 0, old_logits.shape[1]
    for b, h, w in torch.cartesian_prod(
            *map(torch.arange, old_logits[:, 0].shape)):
        old, new = old_logits[b, :, h, w].exp(), logits[b, :, h, w].exp()
        old, new = old / old.sum(), new / new.sum()
        here = old[0] * (new[0] + new[num_old:].sum()).log()
        for c in range(1, num_old):
            here = here + old[c] * new[c].log()
        total = total - here * (1 if weight is None else weight[b, h, w])
    return total / old_logits.numel()


def test_brute_force(batch, assert_same):
    args = batch.logits, batch.old_logits
    assert_same(UnbiasedDistillationLoss(loss_weight=10.)(*args),
                10 * brute_force(*args), batch.logits)


def test_weight_of_every_pixel(batch, assert_same):
    weight = torch.rand(batch.labels.shape, dtype=torch.float64)
    args = batch.logits, batch.old_logits, weight
    assert_same(UnbiasedDistillationLoss(loss_weight=3.)(*args),
                3 * brute_force(*args), batch.logits)


@pytest.mark.parametrize('loss', [UnbiasedDistillationLoss, DistillationLoss])
def test_weights_of_one_change_no_bit(batch, loss):
    args = batch.logits, batch.old_logits
    ones = torch.ones(batch.labels.shape, dtype=torch.float64)
    assert loss()(*args).item() == loss()(*args, ones).item()
    assert loss()(*args, 2 * ones).item() == 2 * loss()(*args).item()


def test_without_new_class_equals_distillation(assert_same):
    logits = torch.randn(2, 5, 4, 4, requires_grad=True)
    old_logits = torch.randn(2, 5, 4, 4)
    assert_same(UnbiasedDistillationLoss()(logits, old_logits),
                DistillationLoss()(logits, old_logits), logits)


def test_balanced_start_gives_the_old_entropy(batch):
    """Background split evenly over itself and the new classes: H(q) / C."""
    old, num_new = batch.old_logits, batch.num_new
    background = old[:, :1] - math.log(num_new + 1)
    logits = torch.cat(
        [background, old[:, 1:],
         background.expand(-1, num_new, -1, -1)], dim=1)
    prob = old.softmax(dim=1)
    entropy = -(prob * prob.log()).sum(dim=1).mean()
    torch.testing.assert_close(UnbiasedDistillationLoss()(logits, old),
                               entropy / batch.num_old)


def test_large_logits_stay_finite():
    logits = torch.tensor([3e4, -3e4, 0.]).view(1, 3, 1, 1).requires_grad_()
    old_logits = torch.tensor([-3e4, 3e4]).view(1, 2, 1, 1)
    loss = UnbiasedDistillationLoss()(logits, old_logits)
    loss.backward()
    assert loss == 3e4 and logits.grad.isfinite().all()
