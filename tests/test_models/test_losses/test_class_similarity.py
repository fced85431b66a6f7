"""REMINDER's loss, against numbers worked out by hand and by definition."""
import pytest
import torch
from torch.nn import functional as F

from mmseg_spwc.models.losses import ClassSimilarityLoss
from mmseg_spwc.models.losses.class_similarity import class_sums, similarities
from mmseg_spwc.models.losses.distillation import distillation_map
from mmseg_spwc.models.quantities import Maps

OLD = 3
# cosines 1, 0, 0 with the mean (1, 0)
PROTOTYPES = torch.tensor([[2., 0.], [0., 1.], [0., 5.]])
EQUAL = torch.ones(OLD, 2)


def one_pixel(prototypes, label=OLD, **options):
    """One pixel of a new class, whose logits the sheet of oracles gives."""
    loss = ClassSimilarityLoss(**options)
    loss.set_prototypes(prototypes)
    logits = torch.tensor([0., 3., -3., .7]).view(1, 4, 1, 1)
    old = torch.tensor([3., 0., 0.]).view(1, 3, 1, 1)
    maps = Maps((torch.tensor([4., 0.]).view(1, 2, 1, 1), logits))
    return loss(logits.requires_grad_(), old, torch.full((1, 1, 1), label),
                maps, OLD), logits, old


def test_shares_of_old_classes():
    shares = similarities(torch.tensor([[1., 0.]]), PROTOTYPES, 0.)
    assert shares[0].tolist() == pytest.approx(
        [.576117, .211942, .211942], abs=1e-6)
    assert similarities(torch.tensor([[1., 0.]]), PROTOTYPES, 1.)[0].tolist(
    ) == pytest.approx([.576117, 0, 0])
    # equal ones are not dropped, nor is a class without prototype undefined
    assert (similarities(torch.ones(1, 2), EQUAL, 1.) > .33).all()
    assert similarities(torch.ones(1, 2), torch.zeros(4, 2), 0.).tolist() == [
        [.25] * 4]


@pytest.mark.parametrize(('delta', 'expected'), [(0., 5.342913),
                                                 (1., 4.204799)])
def test_published_form(delta, expected):
    loss, _, _ = one_pixel(PROTOTYPES, delta=delta)
    assert loss.item() == pytest.approx(expected, rel=1e-6)
    half, _, _ = one_pixel(PROTOTYPES, delta=delta, loss_weight=.5)
    assert half.item() == pytest.approx(expected / 2, rel=1e-6)


def test_classes_that_look_alike_give_lwfs_distillation():
    loss, logits, old = one_pixel(EQUAL, delta=1.)
    assert loss.item() == pytest.approx(4.222818, abs=1e-5)
    assert loss.item() == pytest.approx(
        distillation_map(logits, old, 3.).mean().item(), abs=1e-5)


@pytest.mark.parametrize('label', [0, OLD - 1, 255])
def test_without_a_new_class_it_is_zero_with_a_gradient(label):
    loss, logits, _ = one_pixel(PROTOTYPES, label)
    loss.backward()
    assert loss == 0 and (logits.grad == 0).all()


def test_sums_are_those_of_enlarged_maps():
    torch.manual_seed(0)
    maps = torch.randn(2, 5, 3, 4, dtype=torch.float64)
    labels = torch.randint(0, 4, (2, 10, 9))
    large = F.interpolate(maps, (10, 9), mode='bilinear', align_corners=True)
    sums, counts = class_sums(maps, labels, [1, 3, 7])
    for row, count, label in zip(sums, counts, [1, 3, 7], strict=True):
        mask = labels == label
        assert count == mask.sum()
        torch.testing.assert_close(
            row, (large * mask[:, None]).sum(dim=(0, 2, 3)))
    assert class_sums(maps, labels, [])[0].shape == (0, 5)


def test_brute_force_over_two_images_and_classes():
    torch.manual_seed(0)
    logits, old = torch.randn(2, 5, 6, 6), torch.randn(2, OLD, 6, 6)
    maps = torch.randn(2, 2, 3, 3)
    labels = torch.randint(0, 5, (2, 6, 6))
    labels[0, 0] = 255
    weight = torch.rand(2, 6, 6)
    loss = ClassSimilarityLoss(temperature=2.)
    loss.set_prototypes(PROTOTYPES)
    large = F.interpolate(maps, (6, 6), mode='bilinear', align_corners=True)
    expected, count = 0., 0
    for b, y, x in (labels >= OLD).nonzero().tolist():
        label = labels[b, y, x]
        if label == 255:
            continue
        mean = large.permute(0, 2, 3, 1)[labels == label].mean(0)
        r = torch.stack([F.cosine_similarity(mean, m, 0)
                         for m in PROTOTYPES]).softmax(0)
        q = (old[b, :, y, x] / 2).softmax(0)
        log_p = (logits[b, :OLD, y, x] / 2).log_softmax(0)
        expected -= 4 * weight[b, y, x] * ((r * q + 1e-7) * log_p).sum()
        count += 1
    got = loss(logits, old, labels, Maps((maps, logits)), OLD, weight)
    torch.testing.assert_close(got, expected / count)


def test_missing_prototypes_are_told():
    with pytest.raises(RuntimeError, match='PrototypeHook'):
        one_pixel(None)
