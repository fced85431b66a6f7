"""DKD's losses: yes-or-no questions, and what speaks for and against."""
import pytest
import torch
from torch.nn import functional as F

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.models.growing import GrowingClassifier
from mmseg_spwc.models.losses import (
    BCEDistillationLoss,
    ClassBCELoss,
    DecomposedDistillationLoss,
    ExtraRowLoss,
    NewClassBCELoss,
)
from mmseg_spwc.models.quantities import Maps


def bce(z, t):
    return F.softplus(z) - t * z


def classifier(*rows, channels=None):
    """With a background row, which plays no part."""
    weight = torch.tensor([[9.] * len(rows[0]), *rows])
    made = GrowingClassifier(len(rows[0]), channels or (len(weight), ))
    for conv, part in zip(made.convs, weight.split(made.channels),
                          strict=True):
        conv.weight.data = part[..., None, None]
        conv.bias.data.zero_()
    return made


def as_map(*values):
    return torch.tensor(values).view(1, -1, 1, 1)


def test_numbers_of_one_pixel():
    f, new, old = as_map(1., 2.), classifier([1., -.5]), classifier([.5, -1.])
    maps, old_maps = (Maps((f, f, made(f))) for made in (new, old))
    assert (maps[2][0, 1].item(), old_maps[2][0, 1].item()) == (0, -1.5)
    kd = BCEDistillationLoss(skip_background=True)(maps[2], old_maps[2])
    parts = DecomposedDistillationLoss()(maps, old_maps, new, old)
    assert kd.item() == pytest.approx(.693147, abs=1e-6)
    assert parts['loss_pos'].item() == pytest.approx(.690802, abs=1e-6)
    assert parts['loss_neg'].item() == pytest.approx(.432465, abs=1e-6)
    assert 5 * (kd + sum(parts.values())).item() == pytest.approx(
        9.082071, abs=1e-5)


@pytest.fixture
def step():
    """Maps and classifiers of a step with three old and two new classes."""
    torch.manual_seed(0)
    new, old = GrowingClassifier(5, (4, 2)), GrowingClassifier(5, (4, ))
    f, g = torch.randn(2, 2, 5, 3, 4)
    return Maps((f, new(f))), Maps((g, old(g))), new, old


def test_both_parts_are_summed_over_old_classes(step):
    maps, old_maps, new, old = step
    v = torch.tensor([7., 1., .5, 2.])
    for weight in (None, v):
        found = DecomposedDistillationLoss(loss_weight=3.)(*step, weight)
        for name, sign in (('pos', 1), ('neg', -1)):
            total = 0
            for c in (1, 2, 3):
                z, q = (torch.einsum('bdhw,d->bhw', m[0], sign * F.relu(
                    sign * made.weight[c, :, 0, 0]))
                    for m, made in ((maps, new), (old_maps, old)))
                total += bce(z, q.sigmoid()).mean() * (
                    1 if weight is None else v[c])
            torch.testing.assert_close(found[f'loss_{name}'], 3 * total)


def test_the_parts_and_the_bias_are_the_logit(step):
    maps, _, new, _ = step
    parts = sum(F.conv2d(maps[0], sign(new.weight))
                for sign in (F.relu, lambda w: -F.relu(-w)))
    bias = torch.cat([conv.bias for conv in new.convs]).view(-1, 1, 1)
    torch.testing.assert_close(parts + bias, maps[1])


def test_where_nothing_changed_no_gradient_is_left(step):
    maps, _, new, _ = step
    f = maps[0].requires_grad_()
    same = Maps((f, new(f)))
    parts = DecomposedDistillationLoss()(
        same, Maps(m.detach() for m in same), new, new)
    z = F.conv2d(f, F.relu(new.weight[1:]))
    q = z.sigmoid()
    entropy = -(q * q.log() + (1 - q) * (1 - q).log()).sum(1).mean()
    torch.testing.assert_close(parts['loss_pos'], entropy)
    gradient, = torch.autograd.grad(sum(parts.values()), f)
    assert gradient.abs().max() < 1e-7


def test_the_distillation_may_leave_the_background_out(batch):
    if batch.num_old == 1:
        return
    v = torch.rand(batch.num_old, dtype=torch.float64)
    found = BCEDistillationLoss(skip_background=True)(
        batch.logits, batch.old_logits, v)
    expected = sum(
        v[c] * bce(batch.logits[:, c], batch.old_logits[:, c].sigmoid()).mean()
        for c in range(1, batch.num_old))
    torch.testing.assert_close(found, expected)


def test_new_classes_are_yes_or_no_questions(batch, assert_same):
    total = 0 * batch.logits.sum()
    for c in range(batch.num_old, batch.logits.shape[1]):
        yes = (batch.labels == c).double()
        z = batch.logits[:, c]
        loss = 2.5 * yes * F.softplus(-z) + (1 - yes) * F.softplus(z)
        total = total + loss.mean()
    loss = NewClassBCELoss(2.5, loss_weight=2.)
    assert_same(loss(batch.logits, batch.labels, batch.num_old), 2 * total,
                batch.logits)


def test_at_step_0_it_is_lwf_mcs_without_the_background(batch):
    labels = batch.labels.where(batch.labels != 255, 0)
    whole = ClassBCELoss()(batch.logits, labels)
    z = batch.logits[:, 0]
    torch.testing.assert_close(
        NewClassBCELoss()(batch.logits, labels, 0),
        whole - bce(z, (labels == 0).double()).mean())


def test_the_extra_row_learns_to_say_no_and_the_network_does_not():
    made = GrowingClassifier(5, (4, 2), extra=True)
    f = torch.randn(2, 5, 3, 4, requires_grad=True)
    loss = ExtraRowLoss()(Maps((f, made(f))), made)
    expected = F.binary_cross_entropy(
        made.extra(f).sigmoid(), torch.zeros(2, 1, 3, 4))
    torch.testing.assert_close(loss, expected)
    loss.backward()
    assert f.grad is None and made.extra.bias.grad > 0
    with pytest.raises(ConfigError, match='classifier.extra=True'):
        ExtraRowLoss()(Maps((f, f)), GrowingClassifier(5, (4, 2)))


def test_new_rows_start_as_the_extra_one():
    made = GrowingClassifier(5, (4, 2), extra=True)
    made.initialise_new('extra')
    x = torch.randn(2, 5, 3, 4)
    torch.testing.assert_close(
        made(x)[:, 4:], made.extra(x).expand(-1, 2, -1, -1))
    with pytest.raises(ValueError, match='classifier.extra=True'):
        GrowingClassifier(5, (4, 2)).initialise_new('extra')


def test_a_background_of_zero_is_a_threshold_of_one_half():
    torch.manual_seed(0)
    made = GrowingClassifier(5, (4, 2), zero_background=True)
    made.convs[0].bias.data[1:] -= .7
    made.convs[1].bias.data -= .7
    logits = made(torch.randn(2, 5, 3, 4))
    probabilities = logits[:, 1:].sigmoid()
    expected = (probabilities.argmax(1) + 1).where(
        probabilities.amax(1) > .5, 0)
    assert torch.equal(logits.argmax(1), expected)
    assert 0 < (expected == 0).sum() < expected.numel()
