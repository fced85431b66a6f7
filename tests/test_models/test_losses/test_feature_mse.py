import pytest
import torch

from mmseg_spwc.models.losses import FeatureMSELoss


def test_brute_force(assert_same):
    new = torch.randn(2, 3, 2, 2, dtype=torch.float64, requires_grad=True)
    old = torch.randn(2, 3, 2, 2, dtype=torch.float64)
    brute = sum((a - b)**2 for a, b in zip(new.flatten(), old.flatten(),
                                           strict=True)) / new.numel()
    assert_same(FeatureMSELoss(loss_weight=100.)(new, old), 100 * brute, new)


def test_list_takes_the_last_stage(maps):
    new, old = maps(3, 2)
    expected = FeatureMSELoss()(new[0], old[0])
    assert FeatureMSELoss()(new, old) == expected
    assert FeatureMSELoss(index=0)(new, old) == expected


def test_copy_of_oneself_is_zero():
    new = torch.randn(2, 3, 2, 2, requires_grad=True)
    loss = FeatureMSELoss()(new, new)
    loss.backward()
    assert loss == 0 and torch.equal(new.grad, torch.zeros_like(new))


def test_wrong_shapes():
    with pytest.raises(ValueError, match='equal shape'):
        FeatureMSELoss()(torch.ones(1, 2, 3, 3), torch.ones(1, 2, 3, 1))
