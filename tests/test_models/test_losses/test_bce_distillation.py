import torch

from mmseg_spwc.models.losses import BCEDistillationLoss


def brute_force(logits, old_logits):
    total = 0
    for b, c, h, w in torch.cartesian_prod(
            *map(torch.arange, old_logits.shape)):
        new, old = logits[b, c, h, w], old_logits[b, c, h, w]
        score, target = 1 / (1 + (-new).exp()), 1 / (1 + (-old).exp())
        total = total - target * score.log() - (1 - target) * (1 -
                                                               score).log()
    return total / old_logits[:, 0].numel()


def test_brute_force(batch, assert_same):
    args = batch.logits, batch.old_logits
    assert_same(BCEDistillationLoss(loss_weight=10.)(*args),
                10 * brute_force(*args), batch.logits)


def test_own_prediction_is_the_minimum(batch):
    own = batch.logits.detach()[:, :batch.num_old]
    loss = BCEDistillationLoss()(batch.logits, own)
    gradient, = torch.autograd.grad(loss, batch.logits)
    assert gradient.abs().max() < 1e-15
