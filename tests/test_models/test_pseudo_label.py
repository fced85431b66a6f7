"""Labels that the old model gives to the background, against loops."""
import pytest
import torch
from pixel_parts import draw, entropy_of

from mmseg_spwc.models.pseudo_label import EntropyThresholds, PseudoLabeller
from mmseg_spwc.models.taps import OldPass


def label(old_logits, labels, num_old, confidence=.5, **options):
    labeller = PseudoLabeller(confidence, **options)
    return labeller(OldPass(logits=old_logits), labels, num_old)


@pytest.mark.parametrize('compat', [None, 'plop'])
def test_labels_by_entropy(compat):
    old_logits, labels = draw()
    entropies = EntropyThresholds(6, compat=compat)
    entropies.update(old_logits, labels, 4)
    labeller = PseudoLabeller(compat=compat)
    labeller.thresholds = thresholds = entropies.thresholds()
    got, factor = labeller(OldPass(logits=old_logits), labels, 4)
    for b in range(3):
        background = accepted = 0
        for h, w in torch.cartesian_prod(torch.arange(6), torch.arange(6)):
            label, scores = labels[b, h, w], old_logits[b, :, h, w].tolist()
            if label < 4:
                background += 1
                best = scores.index(max(scores))
                sure = entropy_of(scores, 6, compat) < thresholds[best]
                accepted += sure
                label = best if sure else 255
            assert got[b, h, w] == label
        if background:
            assert 0 < accepted < background
            assert factor[b].item() == pytest.approx(accepted / background)
    assert factor[2] == (1 if compat is None else 0)


def test_labels_by_confidence():
    probabilities = torch.tensor([[.7, .3], [.4, .6], [.45, .55], [.1, .9]])
    old_logits = probabilities.log().T.reshape(1, 2, 1, 4)
    labels = torch.tensor([[[0, 0, 0, 2]]])
    got, factor = label(old_logits, labels, 2, .58)
    assert got.tolist() == [[[0, 1, 255, 2]]]
    assert factor.tolist() == pytest.approx([2 / 3])


def test_labels_given_are_not_changed():
    old_logits, labels = draw()
    before = labels.clone()
    label(old_logits, labels, 4)
    assert torch.equal(labels, before)


def test_wrong_arguments():
    old_logits, labels = draw()
    for option in dict(compat='mib'), dict(portion=2), dict(confidence=-1.):
        with pytest.raises(ValueError, match=f'{next(iter(option))}.* is|or'):
            PseudoLabeller(**option)
    with pytest.raises(ValueError, match='expected old logits'):
        label(old_logits, labels, 3)


@pytest.mark.parametrize('adaptive', [True, False])
def test_images_are_weighted_only_if_the_labels_are_adaptive(adaptive):
    old_logits, labels = draw()
    got, share = label(old_logits, labels, 4, adaptive=adaptive)
    accepted = (got != 255) & (labels < 4)
    expected = accepted.sum((1, 2)) / (labels < 4).sum((1, 2))
    assert share is None if not adaptive else torch.equal(
        share, expected.nan_to_num(1.))
