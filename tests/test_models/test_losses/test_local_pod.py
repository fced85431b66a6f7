import math

import pytest
import torch

from mmseg_spwc.models.losses import LocalPODLoss
from mmseg_spwc.models.losses.features import pool_strips


def embed(image):
    """All strips of one squared image (C, H, W), cell by cell."""
    entries, (_, height, width) = [], image.shape
    for scale in (1, 2, 4):
        high, wide = height // scale, width // scale
        for i in range(scale):
            for j in range(scale):
                cell = image[:, i * high:(i + 1) * high,
                             j * wide:(j + 1) * wide]**2
                for channel in cell:
                    entries += [row.sum() / wide for row in channel]
                    entries += [col.sum() / high for col in channel.T]
    return entries


def brute_force(features, old_features, num_new, factor, last_factor):
    logits, num_old = features[-1], old_features[-1].shape[1]
    folded = [logits[:, c] for c in range(num_old)]
    for c in range(num_old, logits.shape[1]):
        folded[0] = folded[0] + logits[:, c]
    maps = [*features[:-1], torch.stack(folded, dim=1)]
    total = 0
    for i, (new, old) in enumerate(zip(maps, old_features, strict=True)):
        weight = last_factor if i == len(maps) - 1 else factor
        for b in range(len(new)):
            pairs = zip(embed(new[b]), embed(old[b]), strict=True)
            square = sum((p - q)**2 for p, q in pairs)
            total = total + weight * square.sqrt() / len(new)
    ratio = math.sqrt(logits.shape[1] / num_new) if num_new else 1
    return ratio * total / len(maps)


def test_brute_force(maps, classes, assert_same):
    new, old = maps(*classes)
    loss = LocalPODLoss(factor=0.1, last_factor=0.3, loss_weight=2.)
    assert_same(loss(new, old, num_new=classes[1]),
                2 * brute_force(new, old, classes[1], 0.1, 0.3), *new)


def test_no_new_class(maps, assert_same):
    new, old = maps(3, 0)
    assert_same(LocalPODLoss()(new, old, num_new=0),
                brute_force(new, old, 0, 0.01, 0.0005), *new)


def test_copy_of_oneself_is_exactly_zero(maps):
    new, _ = maps(4, 0)
    loss = LocalPODLoss()(new, new, num_new=1)
    loss.backward()
    assert loss == 0
    for x in new:
        assert torch.equal(x.grad, torch.zeros_like(x))


def test_number_of_strips():
    """(1 + 2 + 4) grids of side 8 hold 16 + 32 + 64 entries."""
    assert pool_strips(torch.ones(2, 3, 8, 8)).shape == (2, 3, 112)


def test_scale_finer_than_the_map_is_left_out():
    assert pool_strips(torch.ones(1, 1, 3, 3)).shape == (1, 1, 6 + 8)


def test_half_precision_is_widened(maps):
    new, old = ([x.detach().bfloat16() for x in m] for m in maps(3, 2))
    with torch.autocast('cpu', dtype=torch.bfloat16):
        got = LocalPODLoss()(new, old, num_new=2)
    expected = LocalPODLoss()([x.float() for x in new],
                              [x.float() for x in old], num_new=2)
    assert got.dtype == torch.float32 and got == expected


def test_wrong_inputs(maps):
    new, old = maps(3, 2)
    loss = LocalPODLoss()
    with pytest.raises(ValueError, match='as many'):
        loss(new, old[1:], num_new=2)
    with pytest.raises(ValueError, match='feature map 0'):
        loss([new[0][:, :1], *new[1:]], old, num_new=2)
    with pytest.raises(ValueError, match='num_new'):
        loss(new, old, num_new=6)
    with pytest.raises(ValueError, match='at least one'):
        loss([], [], num_new=1)
    with pytest.raises(ValueError, match='scales'):
        LocalPODLoss(scales=(2, 4))
