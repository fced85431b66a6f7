"""Cayley rotations are rotations, and can be learnt."""
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmseg_spwc.models.cayley import CayleyRotations, cayley


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


@pytest.mark.parametrize('sizes', [(0, 3), (2, 0)])
def test_nothing_to_rotate_is_refused(sizes):
    with pytest.raises(ValueError, match='at least one'):
        CayleyRotations(*sizes)
