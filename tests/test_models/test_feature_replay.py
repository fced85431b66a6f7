"""ALIFE-M's formulas: rotations, representatives, what is replayed."""
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from mmseg_spwc.models.feature_replay import (
    CayleyRotations,
    cayley,
    likeness,
    pixel_focal,
    representatives,
    rotation_loss,
)


def random_rotations(num=3, dim=5, seed=0, scale=1.):
    rotations = CayleyRotations(num, dim).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        rotations.upper.copy_(scale * torch.randn(
            rotations.upper.shape, generator=generator))
    return rotations


@settings(deadline=None, max_examples=25)
@given(dim=st.integers(1, 8), seed=st.integers(0, 999),
       scale=st.sampled_from([0.01, 1., 30.]))
def test_matrices_are_rotations(dim, seed, scale):
    matrices = random_rotations(2, dim, seed, scale).matrices()
    identity = torch.eye(dim).double().expand(2, dim, dim)
    torch.testing.assert_close(matrices @ matrices.mT, identity)
    torch.testing.assert_close(torch.linalg.det(matrices),
                               torch.ones(2).double())


def test_two_dimensions_in_closed_form():
    # A = [[0, a], [-a, 0]] turns by 2 arctan(a)
    a = 0.7
    angle = 2 * math.atan(a)
    expected = torch.tensor([[math.cos(angle), -math.sin(angle)],
                             [math.sin(angle), math.cos(angle)]])
    found = cayley(torch.tensor([[0., a], [-a, 0.]]))
    torch.testing.assert_close(found, expected)


def test_it_is_the_formula():
    skew = torch.randn(4, 4, dtype=torch.float64)
    skew = skew - skew.T
    identity = torch.eye(4).double()
    expected = (identity - skew) @ torch.linalg.inv(identity + skew)
    torch.testing.assert_close(cayley(skew), expected)


def test_it_starts_as_the_identity():
    features = torch.randn(3, 7, 5)
    assert torch.equal(CayleyRotations(3, 5)(features), features)


def test_every_class_has_its_own_rotation():
    rotations = random_rotations()
    features = torch.randn(3, 2, 5).double()
    matrices, rotated = rotations.matrices(), rotations(features)
    for k in range(3):
        for n in range(2):
            torch.testing.assert_close(rotated[k, n],
                                       matrices[k] @ features[k, n])


def test_gradients_are_right():
    features = torch.randn(2, 3, 4).double()
    rotations = random_rotations(2, 4)

    def run(upper):
        return torch.func.functional_call(rotations, {'upper': upper},
                                          features)

    assert torch.autograd.gradcheck(run, rotations.upper)


def test_a_rotation_can_be_learnt():
    target = random_rotations(1, 3, scale=0.5).matrices().detach().float()
    features = torch.randn(1, 20, 3)
    rotations = CayleyRotations(1, 3)
    optimizer = torch.optim.Adam(rotations.parameters(), 0.05)
    for _ in range(200):
        optimizer.zero_grad()
        (rotations(features) - features @ target.mT).square().sum().backward()
        optimizer.step()
    torch.testing.assert_close(
        rotations.matrices(), target, atol=1e-2, rtol=0)


def cosine(a, b):
    return (a @ b / (a.norm() * b.norm())).item()


def weights_by_loops(image, memory):
    cells = image.flatten(1).T  # (h * w, D)
    scores = [
        10 * sum(max(0., cosine(m, cell)) for m in memory) for cell in cells
    ]
    powers = [math.exp(s - max(scores)) for s in scores]
    return [p / sum(powers) for p in powers]


def test_likeness_against_loops():
    torch.manual_seed(0)
    maps, memory = torch.randn(2, 3, 2, 4), torch.randn(5, 3)
    found = likeness(maps, memory)
    assert found.shape == (2, 2, 4)
    for image, weights in zip(maps, found, strict=True):
        torch.testing.assert_close(
            weights.flatten(), torch.tensor(weights_by_loops(image, memory)))


def test_representatives_share_the_old_networks_places():
    torch.manual_seed(1)
    old_maps, maps = torch.randn(2, 3, 2, 2), torch.randn(2, 3, 2, 2)
    memory = torch.randn(4, 2, 3)
    old, current = representatives(old_maps, maps, memory)
    assert old.shape == current.shape == (4, 2, 3)
    for k in range(4):
        for b in range(2):
            weights = weights_by_loops(old_maps[b], memory[k])
            for found, source in ((old, old_maps), (current, maps)):
                cells = source[b].flatten(1).T
                expected = sum(
                    w * c for w, c in zip(weights, cells, strict=True))
                torch.testing.assert_close(found[k, b], expected)


def test_rotation_loss_against_loops():
    torch.manual_seed(2)
    rotated, current = torch.randn(2, 2, 3, 4)
    logits, classes = torch.randn(2, 3, 6), torch.tensor([1, 4])
    total = 0.
    for k in range(2):
        for b in range(3):
            powers = logits[k, b].exp()
            entropy = -math.log(powers[classes[k]] / powers.sum())
            total += 0.2 * entropy + 0.8 * (
                1 - cosine(rotated[k, b], current[k, b]))
    loss = rotation_loss(rotated, current, logits, classes, mix=0.8)
    torch.testing.assert_close(loss.item(), total / 6)


def focal_by_loops(logits, labels, gamma):
    total = 0 * logits.sum()
    for b, h, w in torch.cartesian_prod(*map(torch.arange, labels.shape)):
        label = int(labels[b, h, w])
        if label != 255:
            scores = logits[b, :, h, w].exp()
            prob = scores[label] / scores.sum()
            total = total - (1 - prob)**gamma * prob.log()
    return total / labels.numel()


@pytest.mark.parametrize('gamma', [1., 2., 3.5])
@pytest.mark.parametrize('void', [0, 5, 24])
def test_focal_loss_against_loops(gamma, void):
    torch.manual_seed(3)
    logits = torch.randn(2, 4, 3, 4).double().requires_grad_()
    labels = torch.randint(0, 4, (2, 3, 4))
    labels.flatten()[:void] = 255
    found = pixel_focal(logits, labels, gamma)
    expected = focal_by_loops(logits, labels, gamma)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(
        *(torch.autograd.grad(x, logits) for x in (found, expected)))


def test_focal_loss_without_focus_is_cross_entropy():
    logits, labels = torch.randn(2, 4, 3, 4), torch.randint(0, 4, (2, 3, 4))
    torch.testing.assert_close(
        pixel_focal(logits, labels, 0.),
        functional.cross_entropy(logits, labels))


def test_focal_loss_of_a_certain_pixel_has_a_finite_gradient():
    logits = torch.tensor([100., -100.]).view(1, 2, 1, 1).requires_grad_()
    loss = pixel_focal(logits, torch.tensor([[[0]]]))
    loss.backward()
    assert loss == 0 and logits.grad.isfinite().all()
