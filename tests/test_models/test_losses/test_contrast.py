"""UCD's loss, against numbers worked out by hand and by definition."""
import math

import pytest
import torch
from torch.nn import functional as F

from mmseg_spwc.models.losses import ContrastiveDistillationLoss
from mmseg_spwc.models.losses.contrast import contrast
from mmseg_spwc.models.quantities import Maps

OLD = 2


def two_pixels(compat=None, scale=1.):
    """Pixel 0 is background and an old class to the old model, 1 is new."""
    maps = torch.tensor([[1., 0.], [0., 1.]]).T.view(1, 2, 1, 2) * scale
    old = torch.tensor([[1., 0.], [.3, .4]]).T.view(1, 2, 1, 2) / scale
    q = torch.tensor([[.2, .8], [.9, .1]]).T.view(1, 2, 1, 2)
    maps.requires_grad_()
    loss = ContrastiveDistillationLoss(temperature=1., compat=compat)
    return loss(Maps((maps, torch.zeros(1, 3, 1, 2))), Maps((old, q.log())),
                torch.tensor([[[0, OLD]]]), OLD), maps


@pytest.mark.parametrize(('compat', 'expected'), [
    (None, .68 * math.log(1 + math.exp(-1))), ('ucd', .68 * math.log(2))])
def test_published_form(compat, expected):
    loss, maps = two_pixels(compat)
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert expected == pytest.approx(.471340 if compat else .213018, abs=1e-6)
    loss.backward()
    assert maps.grad.isfinite().all()
    scaled, _ = two_pixels(compat, scale=7.)
    assert scaled.item() == pytest.approx(loss.item(), rel=1e-5)


def test_supervised_contrast():
    """Everything certain, no old items: by definition, pair by pair."""
    torch.manual_seed(0)
    u = F.normalize(torch.randn(9, 4, dtype=torch.float64), dim=1)
    labels = torch.tensor([1, 1, 1, 2, 2, 3, 1, 2, 4])
    total, anchors = 0., 0
    for i in range(9):
        score = [math.exp(u[i] @ u[j] / .5) for j in range(9)]
        rest = sum(score[j] for j in range(9) if labels[j] != labels[i])
        own = [j for j in range(9) if labels[j] == labels[i] and j != i]
        if own:
            anchors += 1
            total += sum(-math.log(score[j] / (score[j] + rest))
                         for j in own) / len(own)
    found = contrast(u, u, labels, labels, torch.ones(9, 9), .5)
    assert found.item() == pytest.approx(total / anchors)


@pytest.mark.parametrize('label', [0, 255])
def test_without_foreground_it_is_zero_with_a_gradient(label):
    maps = torch.randn(1, 3, 2, 2, requires_grad=True)
    old = torch.zeros(1, 2, 2, 2)
    old[:, 0] = 9.
    loss = ContrastiveDistillationLoss()(
        Maps((maps, maps)), Maps((maps.detach(), old)),
        torch.full((1, 4, 4), label), OLD)
    loss.backward()
    assert loss == 0 and (maps.grad == 0).all()


def test_pixels_of_one_class_alone_have_nothing_to_be_told_from():
    maps = torch.randn(1, 3, 2, 2, requires_grad=True)
    loss = ContrastiveDistillationLoss()(
        Maps((maps, maps)), Maps((maps.detach(), torch.zeros(1, 2, 2, 2))),
        torch.full((1, 2, 2), OLD), OLD)
    loss.backward()
    assert loss == 0 and maps.grad.isfinite().all()


def test_labels_are_shrunk_to_one_of_them_whatever_their_number():
    """The published code mixes them at borders, and drops those above 20."""
    torch.manual_seed(0)
    maps, old = torch.randn(1, 3, 2, 2), torch.randn(1, 100, 2, 2)
    labels = torch.tensor([[[150, 7], [150, 255]]])
    large = torch.full((1, 8, 8), 9)
    large[:, ::4, ::4] = labels  # the first pixel of every block counts
    losses = [ContrastiveDistillationLoss()(
        Maps((maps, maps)), Maps((maps, old)), given, 100)
        for given in (labels, large, labels.where(labels == 255, 0))]
    assert losses[0] == losses[1] != losses[2] and losses[0] > 0


def test_a_limit_on_the_pixels():
    torch.manual_seed(0)
    maps = torch.randn(2, 3, 8, 8)
    labels = torch.randint(1, 4, (2, 16, 16))
    batch = (Maps((maps, maps)), Maps((maps, maps[:, :2])), labels, OLD)
    losses = [ContrastiveDistillationLoss(max_anchors=n)(*batch).item()
              for n in (20, 128, 4096)]
    assert losses[0] != losses[1] == losses[2]


@pytest.mark.parametrize('options', [
    dict(max_anchors=0), dict(compat='mib'), dict(temperature=0.)])
def test_bad_settings_are_refused(options):
    with pytest.raises(ValueError, match=f'{[*options][0]}'):
        ContrastiveDistillationLoss(**options)
