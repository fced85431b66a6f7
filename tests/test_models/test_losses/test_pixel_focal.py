import pytest
import torch

from mmseg_spwc.models.losses import PixelCrossEntropyLoss, PixelFocalLoss


def brute_force(logits, labels, gamma, weight):
    total = 0 * logits.sum()
    for b, h, w in torch.cartesian_prod(*map(torch.arange, labels.shape)):
        label = int(labels[b, h, w])
        if label != 255:
            scores = logits[b, :, h, w].exp()
            prob = scores[label] / scores.sum()
            total = total - weight[b, h, w] * (1 - prob)**gamma * prob.log()
    return total / labels.numel()


@pytest.mark.parametrize('gamma', [1., 2., 3.5])
def test_brute_force(batch, assert_same, gamma):
    weight = torch.rand(batch.labels.shape, dtype=torch.float64)
    args = batch.logits, batch.labels
    loss = PixelFocalLoss(gamma, loss_weight=2.)
    assert_same(loss(*args, pixel_weight=weight),
                2 * brute_force(*args, gamma, weight), batch.logits)


def test_gamma_zero_is_cross_entropy(batch, assert_same):
    args = batch.logits, batch.labels
    assert_same(PixelFocalLoss(0.)(*args), PixelCrossEntropyLoss()(*args),
                batch.logits)


def test_certain_pixel_has_a_finite_gradient():
    logits = torch.tensor([100., -100.]).view(1, 2, 1, 1).requires_grad_()
    loss = PixelFocalLoss()(logits, torch.tensor([[[0]]]))
    loss.backward()
    assert loss == 0 and logits.grad.isfinite().all()


def test_wrong_gamma():
    with pytest.raises(ValueError, match='gamma'):
        PixelFocalLoss(0.5)
