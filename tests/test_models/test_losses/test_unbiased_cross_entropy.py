import pytest
import torch

from mmseg_spwc.models.losses import (
    PixelCrossEntropyLoss,
    UnbiasedCrossEntropyLoss,
)


def brute_force(logits, labels, num_old, weight=None):
    total = 0 * logits.sum()
    for b, h, w in torch.cartesian_prod(*map(torch.arange, labels.shape)):
        label = int(labels[b, h, w])
        if label == 255:
            continue
        scores = logits[b, :, h, w].exp()
        wanted = scores[:num_old].sum() if label < num_old else scores[label]
        factor = 1 if weight is None else weight[b, h, w]
        total = total - factor * (wanted / scores.sum()).log()
    return total / labels.numel()


def test_brute_force(batch, assert_same):
    args = batch.logits, batch.labels, batch.num_old
    assert_same(UnbiasedCrossEntropyLoss()(*args), brute_force(*args),
                batch.logits)


def test_pixel_weight(batch, assert_same):
    weight = torch.rand(batch.labels.shape, dtype=torch.float64)
    args = batch.logits, batch.labels, batch.num_old, weight
    assert_same(UnbiasedCrossEntropyLoss(loss_weight=3.)(*args),
                3 * brute_force(*args), batch.logits)


def test_prior_correction_is_an_offset_of_the_new_logits(batch, assert_same):
    loss = UnbiasedCrossEntropyLoss(new_offset=1.5)
    shift = torch.zeros_like(batch.logits[:1])
    shift[:, batch.num_old:] = 1.5
    assert_same(
        loss(batch.logits, batch.labels, batch.num_old),
        brute_force(batch.logits + shift, batch.labels, batch.num_old),
        batch.logits)


@pytest.mark.parametrize('num_old', [0, 1, 3])
def test_unit_weight_changes_no_bit(num_old):
    logits = torch.randn(2, 5, 9, 9, requires_grad=True)
    labels = torch.randint(0, 5, (2, 9, 9))
    loss = UnbiasedCrossEntropyLoss()
    plain = loss(logits, labels, num_old)
    weighted = loss(logits, labels, num_old, torch.ones(2, 9, 9))
    assert plain.item() == weighted.item()
    assert torch.equal(
        torch.autograd.grad(plain, logits)[0],
        torch.autograd.grad(weighted, logits)[0])


def test_new_labels_only_equal_cross_entropy(batch, assert_same):
    labels = batch.labels.clamp(min=batch.num_old)
    assert_same(
        UnbiasedCrossEntropyLoss()(batch.logits, labels, batch.num_old),
        PixelCrossEntropyLoss()(batch.logits, labels), batch.logits)


def test_old_labels_only_count_any_old_class(batch, assert_same):
    labels = torch.zeros_like(batch.labels)
    old = batch.logits.softmax(dim=1)[:, :batch.num_old].sum(dim=1)
    assert_same(
        UnbiasedCrossEntropyLoss()(batch.logits, labels, batch.num_old),
        -old.log().mean(), batch.logits)


def test_no_previous_model_gives_cross_entropy(batch, assert_same):
    assert_same(UnbiasedCrossEntropyLoss()(batch.logits, batch.labels, 0),
                PixelCrossEntropyLoss()(batch.logits, batch.labels),
                batch.logits)


def test_ignored_image_is_zero_with_zero_gradient():
    logits = torch.randn(1, 4, 2, 2, requires_grad=True)
    loss = UnbiasedCrossEntropyLoss()(logits, torch.full((1, 2, 2), 255), 3)
    loss.backward()
    assert loss == 0 and torch.equal(logits.grad, torch.zeros_like(logits))


def test_large_logits_stay_finite():
    logits = torch.tensor([1e4, -1e4, 0.]).view(1, 3, 1, 1).requires_grad_()
    loss = UnbiasedCrossEntropyLoss()(logits, torch.tensor([[[2]]]), 2)
    loss.backward()
    assert loss == 1e4 and logits.grad.isfinite().all()


def test_half_precision_is_widened():
    logits, labels = torch.randn(2, 4, 8, 8), torch.randint(0, 4, (2, 8, 8))
    loss = UnbiasedCrossEntropyLoss()
    with torch.autocast('cpu', dtype=torch.bfloat16):
        got = loss(logits.bfloat16(), labels, 2)
    assert got.dtype == torch.float32
    assert got == loss(logits.bfloat16().float(), labels, 2)


def test_wrong_inputs():
    logits, labels = torch.randn(2, 4, 8, 8), torch.randint(0, 4, (2, 8, 8))
    loss = UnbiasedCrossEntropyLoss()
    with pytest.raises(ValueError, match='num_old'):
        loss(logits, labels, 5)
    with pytest.raises(ValueError, match='upsampled'):
        loss(logits[..., ::2], labels, 2)
    with pytest.raises(ValueError, match='pixel_weight'):
        loss(logits, labels, 2, torch.ones(2))
    with pytest.raises(ValueError, match='at least one image'):
        loss(logits[:0], labels[:0], 2)
