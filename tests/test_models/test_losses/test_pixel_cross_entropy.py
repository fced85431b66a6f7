import torch

from mmseg_spwc.models.losses import PixelCrossEntropyLoss


def brute_force(logits, labels, weight, ignored=(255, )):
    total = 0 * logits.sum()
    for b, h, w in torch.cartesian_prod(*map(torch.arange, labels.shape)):
        label = int(labels[b, h, w])
        if label not in ignored:
            scores = logits[b, :, h, w].exp()
            log_prob = (scores[label] / scores.sum()).log()
            total = total - weight[b, h, w] * log_prob
    return total / labels.numel()


def test_brute_force(batch, assert_same):
    weight = torch.rand(batch.labels.shape, dtype=torch.float64)
    ones = torch.ones_like(weight)
    loss = PixelCrossEntropyLoss(loss_weight=2.)
    args = batch.logits, batch.labels
    assert_same(loss(*args), 2 * brute_force(*args, ones),
                batch.logits)
    assert_same(loss(*args, pixel_weight=weight),
                2 * brute_force(*args, weight), batch.logits)


def test_background_can_be_left_out(batch, assert_same):
    ones = torch.ones(batch.labels.shape, dtype=torch.float64)
    assert_same(
        PixelCrossEntropyLoss(ignore_background=True)(batch.logits,
                                                      batch.labels),
        brute_force(batch.logits, batch.labels, ones, ignored=(0, 255)),
        batch.logits)


def test_unit_weight_changes_no_bit():
    logits, labels = torch.randn(2, 5, 9, 9), torch.randint(0, 5, (2, 9, 9))
    loss = PixelCrossEntropyLoss()
    assert loss(logits, labels) == loss(
        logits, labels, pixel_weight=torch.ones(2, 9, 9))
