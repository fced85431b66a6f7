import math

import pytest
import torch

from mmseg_spwc.models.losses import DistillationLoss


def brute_force(logits, old_logits, temperature=1.):
    total, num_old = 0, old_logits.shape[1]
    for b, h, w in torch.cartesian_prod(
            *map(torch.arange, old_logits[:, 0].shape)):
        old = (old_logits[b, :, h, w] / temperature).exp()
        new = (logits[b, :num_old, h, w] / temperature).exp()
        for c in range(num_old):
            total = total - old[c] / old.sum() * (new[c] / new.sum()).log()
    return temperature**2 * total / old_logits.numel()


@pytest.mark.parametrize('temperature', [1., 2.5])
def test_brute_force(batch, assert_same, temperature):
    loss = DistillationLoss(temperature, loss_weight=100.)
    args = batch.logits, batch.old_logits
    assert_same(loss(*args), 100 * brute_force(*args, temperature),
                batch.logits)


def test_uniform_prediction():
    """Against a uniform old model: ln(C_old) / C_old."""
    logits = torch.zeros(1, 7, 2, 2)
    loss = DistillationLoss()(logits, torch.zeros(1, 5, 2, 2))
    assert loss.item() == pytest.approx(math.log(5) / 5)


def test_new_logits_play_no_part(batch):
    loss = DistillationLoss()
    kept = batch.logits.detach()[:, :batch.num_old]
    torch.testing.assert_close(
        loss(batch.logits, batch.old_logits), loss(kept, batch.old_logits))


def test_own_prediction_is_the_minimum(batch):
    own = batch.logits.detach()[:, :batch.num_old]
    loss = DistillationLoss()(batch.logits, own)
    gradient, = torch.autograd.grad(loss, batch.logits)
    assert gradient.abs().max() < 1e-15


def test_large_logits_stay_finite():
    logits = torch.tensor([3e4, -3e4]).view(1, 2, 1, 1).requires_grad_()
    loss = DistillationLoss()(logits, logits.detach().flip(1))
    loss.backward()
    assert loss == 3e4 and logits.grad.isfinite().all()


def test_wrong_inputs():
    with pytest.raises(ValueError, match='C_old <= C_cur'):
        DistillationLoss()(torch.zeros(1, 2, 3, 3), torch.zeros(1, 3, 3, 3))
    with pytest.raises(ValueError, match='C_old <= C_cur'):
        DistillationLoss()(torch.zeros(1, 3, 3, 4), torch.zeros(1, 3, 3, 3))
    with pytest.raises(ValueError, match='temperature'):
        DistillationLoss(temperature=0.)
