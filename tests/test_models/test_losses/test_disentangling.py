"""SDR's losses, against numbers worked out by hand and by definition."""
import math

import pytest
import torch
from torch.nn import functional as F

from mmseg_spwc.models.losses import DisentanglingLoss
from mmseg_spwc.models.losses.disentangling import repulsion, sparsity
from mmseg_spwc.models.quantities import Maps

OLD = 3
FACTORS = dict(match=2., attract=3., repel=5., sparse=7.)


def losses(maps, seen, given, prototypes=None, **quantities):
    """With the classes (B, h, w) that the old model sees."""
    loss = DisentanglingLoss(**FACTORS)
    loss.set_prototypes(torch.zeros(OLD, maps.shape[1]).to(maps)
                        if prototypes is None else prototypes)
    old = F.one_hot(seen, OLD).permute(0, 3, 1, 2).to(maps)
    found = loss(Maps((maps, maps, maps)), Maps((maps, maps, old)), given,
                 OLD, **quantities)
    return {k.removeprefix('loss_'): v for k, v in found.items()}


@pytest.mark.parametrize(('active', 'expected'), [(1, 5.718282),
                                                  (4, 2.718282)])
def test_sparsity_is_least_for_dense_maps(active, expected):
    pixel = torch.zeros(1, 4)
    pixel[:, :active] = 3.
    label = torch.tensor([1])
    assert sparsity(pixel, label).item() == pytest.approx(expected, abs=1e-5)
    assert expected == pytest.approx(math.e - 1 + 4 / active, abs=1e-5)
    # each class has its own largest value; a dead pixel does not count
    both = torch.cat([pixel, 9 * pixel, 0 * pixel])
    assert sparsity(both, torch.tensor([1, 2, 2])).item() == pytest.approx(
        expected, abs=1e-5)
    assert sparsity(0 * pixel, label) == 0


def test_two_means_at_a_distance_of_two():
    a, b = torch.tensor([1., 1.]), torch.tensor([1., 3.])
    assert repulsion([a, b]).item() == pytest.approx(.5)
    assert repulsion([a, b, torch.tensor([5., 1.])]).item() == pytest.approx(
        (1 / 2 + 1 / 4 + 20**-.5) / 3)


def test_a_pixel_that_equals_its_prototype():
    maps = torch.tensor([1., 2.]).view(1, 2, 1, 1).requires_grad_()
    prototypes = torch.tensor([[9., 9.], [9., 9.], [1., 2.]])
    seen = torch.full((1, 1, 1), 2)
    found = losses(maps, seen, torch.zeros_like(seen), prototypes)
    assert found['match'] == found['attract'] == found['repel'] == 0
    prototypes[2, 0] = 4.
    found = losses(maps, seen, torch.zeros_like(seen), prototypes)
    assert found['match'].item() == pytest.approx(2 * 9 / 2)
    named = torch.tensor([[False, True, True, False, False]])
    found = losses(maps, seen, seen, prototypes, named=named)
    assert found['match'] == 0
    assert found['attract'].item() == pytest.approx(3 * 9 / 2)


@pytest.mark.parametrize('weighted', [False, True])
def test_brute_force_over_two_images(weighted):
    """Images are not mixed, as the published code mixes them."""
    torch.manual_seed(0)
    maps = torch.randn(2, 4, 5, 6, dtype=torch.float64, requires_grad=True)
    given = torch.randint(0, 5, (2, 10, 12))
    given[0, :4] = 255
    seen = torch.randint(0, OLD, (2, 5, 6))
    prototypes = torch.randn(OLD, 4, dtype=torch.float64)
    v = torch.tensor([5., 2., .5], dtype=torch.float64)
    pixels = {}  # by class: value, and whether its label says so
    for b in range(2):
        for y in range(5):
            for x in range(6):
                label = int(given[b, 2 * y, 2 * x])
                if label == 255:
                    continue
                own = label if label >= OLD else int(seen[b, y, x])
                pixels.setdefault(own, []).append(
                    (maps[b, :, y, x], label >= OLD))
    mean = {c: torch.stack([g for g, _ in p]).mean(0)
            for c, p in pixels.items() if c > 0}
    expected = dict.fromkeys(FACTORS, 0.)
    for c in (1, 2):
        expected['match'] += ((mean[c] - prototypes[c])**2).mean() / 2 * (
            v[c] if weighted else 1)
    for c in (3, 4):
        expected['attract'] += sum(((g - mean[c])**2).mean() / len(pixels[c])
                                   for g, _ in pixels[c]) / 2
    for a, b in ((1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)):
        expected['repel'] += 1 / (mean[a] - mean[b]).norm() / 6
    rows = []
    for p in pixels.values():
        largest = max(float(g.detach().max()) for g, _ in p)
        for g, _ in p:
            g = g.relu() / largest
            if g.sum() > 0:
                rows.append(g.exp().sum() / g.sum().clamp(min=1e-2))
    expected['sparse'] = sum(rows) / len(rows)
    found = losses(maps, seen, given, prototypes,
                   class_weight=v if weighted else None)
    for name, factor in FACTORS.items():
        torch.testing.assert_close(
            found[name], factor * torch.as_tensor(expected[name]))
    grad, = torch.autograd.grad(sum(found.values()), maps)
    assert grad.isfinite().all() and grad.any()


def test_background_alone_is_sparse_and_nothing_else():
    maps = torch.rand(1, 2, 2, 2, requires_grad=True)
    nothing = torch.zeros(1, 2, 2, dtype=torch.long)
    found = losses(maps, nothing, nothing)
    assert found['match'] == found['attract'] == found['repel'] == 0
    assert found['sparse'] > 0
    void = losses(maps, nothing, nothing + 255)
    sum(void.values()).backward()
    assert sum(void.values()) == 0 and not maps.grad.any()


def test_missing_prototypes_are_told():
    loss = DisentanglingLoss()
    with pytest.raises(RuntimeError, match="maps='backbone'"):
        loss(Maps((torch.ones(1), )), None, None, OLD)
