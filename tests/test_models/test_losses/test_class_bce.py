import torch

from mmseg_spwc.models.losses import ClassBCELoss


def brute_force(logits, labels, weight):
    total = 0 * logits.sum()
    for b, h, w in torch.cartesian_prod(*map(torch.arange, labels.shape)):
        label = int(labels[b, h, w])
        if label == 255:
            continue
        for c, score in enumerate(logits[b, :, h, w].sigmoid()):
            right = score if c == label else 1 - score
            total = total - weight[b, h, w] * right.log()
    return total / labels.numel()


def test_brute_force(batch, assert_same):
    weight = torch.rand(batch.labels.shape, dtype=torch.float64)
    args = batch.logits, batch.labels
    assert_same(ClassBCELoss()(*args),
                brute_force(*args, torch.ones_like(weight)), batch.logits)
    assert_same(ClassBCELoss(loss_weight=.5)(*args, pixel_weight=weight),
                brute_force(*args, weight) / 2, batch.logits)


def test_unit_weight_changes_no_bit():
    logits, labels = torch.randn(2, 5, 9, 9), torch.randint(0, 5, (2, 9, 9))
    loss = ClassBCELoss()
    assert loss(logits, labels) == loss(
        logits, labels, pixel_weight=torch.ones(2, 9, 9))


def test_large_logits_stay_finite():
    logits = torch.tensor([1e4, -1e4]).view(1, 2, 1, 1).requires_grad_()
    loss = ClassBCELoss()(logits, torch.tensor([[[1]]]))
    loss.backward()
    assert loss == 2e4
    assert logits.grad.flatten().tolist() == [1, -1]
