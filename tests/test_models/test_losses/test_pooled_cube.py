import math

import pytest
import torch

from mmseg_spwc.models.losses import PooledCubeLoss
from mmseg_spwc.models.losses.features import WINDOWS


def box_means(channel, k):
    """Sliding k x k means of one channel over its zero-padded plane."""
    height, width = channel.shape
    for i in range(-(k // 2), height - k // 2 + 1):
        for j in range(-(k // 2), width - k // 2 + 1):
            window = channel[max(i, 0):i + k, max(j, 0):j + k]
            yield window.sum() / k**2


def spatial_distance(new, old):
    total = 0
    for k in WINDOWS:
        square = 0
        for c in range(len(new)):
            pairs = zip(
                box_means(new[c]**2, k), box_means(old[c]**2, k), strict=True)
            square = square + sum((p - q)**2 for p, q in pairs)
        total = total + square.sqrt()
    return total / len(WINDOWS)


def channel_distance(new, old):
    square = 0
    for c in range(len(new)):
        near = slice(max(c - 1, 0), c + 2)
        mean = (new[near]**2 - old[near]**2).sum(dim=0) / 3
        square = square + (mean**2).sum()
    return square.sqrt()


def brute_force(features, old_features, num_new, distance, weights):
    logits, num_old = features[-1], old_features[-1].shape[1]
    background = logits[:, 0] + logits[:, num_old:].sum(dim=1)
    folded = torch.stack(
        [background] + [logits[:, c] for c in range(1, num_old)], dim=1)
    pairs = zip([*features[:-1], folded], old_features, strict=True)
    total = 0
    for (new, old), weight in zip(pairs, weights, strict=False):
        for b in range(len(new)):
            total = total + weight * distance(new[b], old[b]) / len(new)
    ratio = math.sqrt(logits.shape[1] / num_new) if num_new else 1
    return ratio * total / len(weights)


SMALL = ((2, 5, 6), (3, 4, 3))


def test_brute_force(maps, classes, assert_same):
    new, old = maps(*classes, sizes=SMALL)
    loss = PooledCubeLoss(0.1, 0.3, 0.5, 0.7, loss_weight=2.)
    got = loss(new, old, num_new=classes[1])
    assert set(got) == {'loss_skd', 'loss_ckd'}
    spatial = brute_force(new, old, classes[1], spatial_distance,
                          (0.1, 0.1, 0.3))
    channel = brute_force(new, old, classes[1], channel_distance, (0.5, 0.7))
    assert_same(got['loss_skd'], 2 * spatial, *new)
    assert_same(got['loss_ckd'], 2 * channel, *new[:-1])


def test_channel_factors_follow_the_spatial_ones(maps, assert_same):
    new, old = maps(3, 0, sizes=SMALL)
    got = PooledCubeLoss(0.1, 0.3)(new, old, num_new=0)
    expected = PooledCubeLoss(0.1, 0.3, 0.1, 0.3)(new, old, num_new=0)
    assert_same(got['loss_ckd'], expected['loss_ckd'], *new[:-1])


def test_zero_channel_factor_is_kept(maps):
    new, old = maps(3, 2, sizes=SMALL)
    loss = PooledCubeLoss(0.1, 0.3, channel_factor=0., channel_last_factor=0.)
    assert loss(new, old, num_new=2)['loss_ckd'] == 0


def test_copy_of_oneself_is_exactly_zero(maps):
    new, _ = maps(4, 0)
    losses = PooledCubeLoss()(new, new, num_new=1)
    sum(losses.values()).backward()
    assert losses['loss_skd'] == 0 and losses['loss_ckd'] == 0
    for x in new:
        assert torch.equal(x.grad, torch.zeros_like(x))


def test_autocast_changes_nothing(maps):
    new, old = ([x.detach().float() for x in m] for m in maps(3, 2))
    plain = PooledCubeLoss()(new, old, num_new=2)
    with torch.autocast('cpu', dtype=torch.bfloat16):
        mixed = PooledCubeLoss()(new, old, num_new=2)
    assert plain == mixed


def test_wrong_inputs(maps):
    new, old = maps(3, 2)
    with pytest.raises(ValueError, match='at least one feature map'):
        PooledCubeLoss()(new[-1:], old[-1:], num_new=2)
    with pytest.raises(ValueError, match='feature map 1'):
        PooledCubeLoss()([new[0], new[0], new[2]], old, num_new=2)
    with pytest.raises(ValueError, match='num_new'):
        PooledCubeLoss()(new, old, num_new=-1)
