import pytest
import torch

from mmseg_spwc.models.losses import FeatureMSELoss
from mmseg_spwc.models.quantities import Maps


def of(stage):
    """A pass with one stage, whose other maps do not count."""
    return Maps((stage, stage[:1], stage[:1]))


def test_brute_force(assert_same):
    new = torch.randn(2, 3, 2, 2, dtype=torch.float64, requires_grad=True)
    old = torch.randn(2, 3, 2, 2, dtype=torch.float64)
    brute = sum((a - b)**2 for a, b in zip(new.flatten(), old.flatten(),
                                           strict=True)) / new.numel()
    assert_same(FeatureMSELoss(loss_weight=100.)(of(new), of(old)),
                100 * brute, new)


def test_a_pass_gives_the_chosen_stage(maps):
    new, old = map(Maps, maps(3, 2, sizes=((3, 8, 8), (2, 4, 4), (4, 5, 7))))
    for index, stage in ((-1, 1), (0, 0), (1, 1)):
        expected = FeatureMSELoss()(of(new[stage]), of(old[stage]))
        assert FeatureMSELoss(index)(new, old) == expected


def test_copy_of_oneself_is_zero():
    new = torch.randn(2, 3, 2, 2, requires_grad=True)
    loss = FeatureMSELoss()(of(new), of(new))
    loss.backward()
    assert loss == 0 and torch.equal(new.grad, torch.zeros_like(new))


def test_wrong_shapes():
    with pytest.raises(ValueError, match='equal shape'):
        FeatureMSELoss()(
            of(torch.ones(1, 2, 3, 3)), of(torch.ones(1, 2, 3, 1)))
