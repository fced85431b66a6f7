"""Representatives and the rotations' loss against loops."""
import math

import torch

from mmseg_spwc.models.representatives import (
    likeness,
    representatives,
    rotation_loss,
)


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
