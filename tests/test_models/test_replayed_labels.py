"""A label of an old class on a replayed image counts as that class."""
from types import SimpleNamespace

import pytest
import torch

from mmseg_spwc.models.losses import UnbiasedCrossEntropyLoss
from mmseg_spwc.models.losses.base import is_background
from mmseg_spwc.models.pseudo_label import EntropyThresholds, PseudoLabeller
from mmseg_spwc.models.segmentor import named_channels
from mmseg_spwc.models.taps import OldPass

OLD, NEW = 4, 2
SPANS = [(4, 6), (1, 4), (1, 6)]  # of the step; of step 0; all seen
LABELS = ([0, 4, 5, 255], [0, 2, 3, 255], [0, 1, 5, 255])


def named_by(spans, channels=OLD + NEW):
    samples = [dict(labelled=span) for span in spans]
    samples = [type('S', (dict, ), dict(labelled=s['labelled']))(s)
               for s in samples]
    return named_channels(samples, torch.zeros(len(spans), channels, 1, 1))


@pytest.fixture
def batch():
    torch.manual_seed(0)
    logits = torch.randn(3, OLD + NEW, 1, 4, dtype=torch.float64)
    return SimpleNamespace(
        logits=logits.requires_grad_(), labels=torch.tensor(LABELS)[:, None],
        named=named_by(SPANS))


def brute_force(logits, labels, spans):
    total = 0 * logits.sum()
    for b, (first, end) in enumerate(spans):
        for w, label in enumerate(labels[b, 0].tolist()):
            if label == 255:
                continue
            p = logits[b, :, 0, w].softmax(0)
            share = p[label] if first <= label < end else \
                1 - p[first:end].sum()
            total = total - share.log()
    return total / labels.numel()


def test_named_channels():
    assert named_by(SPANS).int().tolist() == [
        [0, 0, 0, 0, 1, 1], [0, 1, 1, 1, 0, 0], [0, 1, 1, 1, 1, 1]]
    assert named_channels([{}], torch.zeros(1, 2, 1, 1)) is None


def test_unbiased_cross_entropy_knows_what_an_image_names(batch):
    loss = UnbiasedCrossEntropyLoss()(
        batch.logits, batch.labels, OLD, named=batch.named)
    torch.testing.assert_close(
        loss, brute_force(batch.logits, batch.labels, SPANS))


def test_in_images_of_the_step_it_is_the_published_loss(batch):
    labels, named = batch.labels[:1], batch.named[:1]
    for offset in (0., 1.5):
        loss = UnbiasedCrossEntropyLoss(new_offset=offset)
        torch.testing.assert_close(
            loss(batch.logits[:1], labels, OLD, named=named),
            loss(batch.logits[:1], labels, OLD))


@pytest.mark.parametrize('label', [1, 2, 3])
def test_a_replayed_pixel_raises_its_own_logit_and_no_other(batch, label):
    labels = torch.full((1, 1, 4), label)
    UnbiasedCrossEntropyLoss()(
        batch.logits[1:2], labels, OLD, named=batch.named[1:2]).backward()
    grad = batch.logits.grad[1]  # descent goes against it
    others = [c for c in range(OLD + NEW) if c != label]
    assert (grad[label] < 0).all() and (grad[others] > 0).all()


def test_where_all_is_named_a_gradient_stays_finite(batch):
    named = torch.ones_like(batch.named)
    UnbiasedCrossEntropyLoss()(
        batch.logits, batch.labels, OLD, named=named).backward()
    assert batch.logits.grad.isfinite().all()


def test_pseudo_labels_leave_replayed_labels_alone(batch):
    old_logits = torch.zeros(3, OLD, 1, 4)
    old_logits[:, 1] = 9.  # sure of class 1 everywhere
    found, share = PseudoLabeller(.5)(
        OldPass(logits=old_logits), batch.labels, OLD, batch.named)
    assert found[:, 0].tolist() == [
        [1, 4, 5, 255], [1, 2, 3, 255], [1, 1, 5, 255]]
    assert share.tolist() == [1, 1, 1]


def test_thresholds_count_the_background_alone(batch):
    entropies = EntropyThresholds(OLD + NEW)
    entropies.update(torch.zeros(3, OLD, 1, 4), batch.labels, OLD,
                     batch.named)
    assert entropies.histogram.sum() == 3


def test_background_without_replay_is_what_is_below_the_new_channels(batch):
    assert is_background(batch.labels, OLD).tolist() == \
        (batch.labels < OLD).tolist()
