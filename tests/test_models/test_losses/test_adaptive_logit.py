import torch

from mmseg_spwc.models.losses import AdaptiveLogitLoss


def brute_force(logits, old_logits, labels):
    total, count, num_old = 0 * logits.sum(), 0, old_logits.shape[1]
    for b, h, w in torch.cartesian_prod(*map(torch.arange, labels.shape)):
        if labels[b, h, w] != 0:
            continue
        old, new = old_logits[b, :, h, w].exp(), logits[b, :, h, w]
        count += 1
        total = total + new.exp().sum().log()
        for c in range(num_old):
            total = total - old[c] / old.sum() * new[c]
    return total / max(count, 1)


def test_brute_force(batch, assert_same):
    args = batch.logits, batch.old_logits, batch.labels
    assert_same(AdaptiveLogitLoss(loss_weight=3.)(*args),
                3 * brute_force(*args), batch.logits)


def test_is_a_cross_entropy_over_all_classes(batch):
    """Of the old softmax, padded with zeros, against the full softmax."""
    labels = torch.zeros_like(batch.labels)
    target = batch.old_logits.softmax(dim=1)
    log_prob = batch.logits.log_softmax(dim=1)[:, :batch.num_old]
    torch.testing.assert_close(
        AdaptiveLogitLoss()(batch.logits, batch.old_logits, labels),
        -(target * log_prob).sum(dim=1).mean())


def test_no_background_is_zero_with_zero_gradient(batch):
    labels = torch.full_like(batch.labels, 255)
    loss = AdaptiveLogitLoss()(batch.logits, batch.old_logits, labels)
    gradient, = torch.autograd.grad(loss, batch.logits)
    assert loss == 0 and torch.equal(gradient, torch.zeros_like(gradient))
