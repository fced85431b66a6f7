import pytest
import torch

from mmseg_spwc.models.losses import AdaptiveLogitLoss, LabelGuidedLoss
from mmseg_spwc.models.losses import UnbiasedDistillationLoss as Unbiased
from mmseg_spwc.models.quantities import Maps


def both(batch):
    return Maps([batch.logits]), Maps([batch.old_logits])


def brute_force(logits, old_logits, labels, prev, novel):
    """Pixel by pixel, with logits of the labels' size."""
    total, count, num_old = 0 * logits.sum(), 0, old_logits.shape[1]
    for b, h, w in torch.cartesian_prod(*map(torch.arange, labels.shape)):
        label = int(labels[b, h, w])
        if label == 255:
            continue
        count += 1
        q = old_logits[b, :, h, w].softmax(0)
        log_p = logits[b, :, h, w].log_softmax(0)
        is_new = label >= num_old
        loss = -q[0] * log_p[label if is_new else 0]
        for c in range(1, num_old):
            loss = loss - q[c] * log_p[c]
        total = total + (novel if is_new else prev) * loss
    return total / max(count, 1)


@pytest.mark.parametrize('prev, novel', [(5., .5), (1., 0.), (0., 2.)])
def test_brute_force(batch, assert_same, prev, novel):
    loss = LabelGuidedLoss(prev, novel, loss_weight=3.)
    assert_same(
        loss(*both(batch), batch.labels),
        3 * brute_force(batch.logits, batch.old_logits, batch.labels, prev,
                        novel), batch.logits)


def pixels(*labels):
    """p = 1/8, 2/8, 5/8 and q = 3/4, 1/4 in every pixel."""
    p, q = torch.tensor([.125, .25, .625]), torch.tensor([.75, .25])
    size = 1, 1, len(labels)
    return (Maps([p.log().view(1, 3, 1, 1).expand(-1, -1, *size[1:])]),
            Maps([q.log().view(1, 2, 1, 1).expand(-1, -1, *size[1:])]),
            torch.tensor(labels).view(size))


@pytest.mark.parametrize('labels, prev, novel, expected', [
    ([0], 1, 0, 1.906155), ([2], 0, 1, .699076),
    ([0, 2, 255], 5, 1, 5.114925), ([0, 2, 255], 1, 0, .953077)])
def test_numbers(labels, prev, novel, expected):
    loss = LabelGuidedLoss(prev, novel)(*pixels(*labels))
    assert loss.item() == pytest.approx(expected, abs=1e-6)


def test_without_a_new_pixel_it_is_alifes(batch):
    labels = batch.labels.where(batch.labels < batch.num_old, 0)
    torch.testing.assert_close(
        LabelGuidedLoss(1., 7.)(*both(batch), labels),
        AdaptiveLogitLoss()(batch.logits, batch.old_logits, 0 * labels))


def test_on_new_pixels_it_is_never_below_mibs(batch):
    """Which leaves open to which class the background goes."""
    new = torch.full_like(batch.labels, batch.num_old)
    args = *both(batch), new
    mib = batch.num_old * Unbiased()(batch.logits, batch.old_logits)
    assert LabelGuidedLoss(1., 1.)(*args) >= mib
    alone = batch.logits.detach().clone()
    alone[:, 0] = alone[:, batch.num_old + 1:] = -1e4  # vanish
    torch.testing.assert_close(
        LabelGuidedLoss(1., 1.)(Maps([alone]), *args[1:]),
        batch.num_old * Unbiased()(alone, batch.old_logits))


def test_the_gradient_vanishes_where_p_is_the_moved_q():
    maps = [torch.tensor([-50., .25, .75]).clamp(min=1e-9).log().view(
        1, 3, 1, 1).requires_grad_()]
    old = Maps([torch.tensor([.75, .25]).log().view(1, 2, 1, 1)])
    loss = LabelGuidedLoss(1., 1.)(Maps(maps), old, torch.tensor([[[2]]]))
    assert torch.autograd.grad(loss, maps)[0].abs().max() < 1e-6
    loss = LabelGuidedLoss(1., 1.)(Maps(maps), old, torch.tensor([[[0]]]))
    assert torch.autograd.grad(loss, maps)[0].abs().max() > .1


def test_labels_and_weights_are_shrunk_to_the_logits():
    maps, old, _ = pixels(0, 0)
    labels = torch.tensor([[[2, 0, 0, 0], [0, 0, 0, 0]]])  # the first counts
    weight = torch.tensor([[[3., 9., 1., 9.], [9., 9., 9., 9.]]])
    loss = LabelGuidedLoss(1., 1.)(maps, old, labels, weight)
    assert loss.item() == pytest.approx((3 * .699076 + 1.906155) / 2,
                                        abs=1e-5)
