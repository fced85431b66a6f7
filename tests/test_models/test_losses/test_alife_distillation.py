import torch

from mmseg_spwc.models.losses import AlifeDistillationLoss


def brute_force(logits, old_logits, labels):
    total, count, num_old = 0 * logits.sum(), 0, old_logits.shape[1]
    for b, h, w in torch.cartesian_prod(*map(torch.arange, labels.shape)):
        if labels[b, h, w] == 0:
            continue
        old = old_logits[b, :, h, w].exp()
        new = logits[b, :num_old, h, w].exp()
        count += 1
        for c in range(num_old):
            log_prob = (new[c] / new.sum()).log()
            total = total - old[c] / old.sum() * log_prob / num_old
    return total / max(count, 1)


def test_brute_force(batch, assert_same):
    args = batch.logits, batch.old_logits, batch.labels
    assert_same(AlifeDistillationLoss(loss_weight=3.)(*args),
                3 * brute_force(*args), batch.logits)


def test_background_alone_is_zero_with_zero_gradient(batch):
    labels = torch.zeros_like(batch.labels)
    loss = AlifeDistillationLoss()(batch.logits, batch.old_logits, labels)
    gradient, = torch.autograd.grad(loss, batch.logits)
    assert loss == 0 and torch.equal(gradient, torch.zeros_like(gradient))
