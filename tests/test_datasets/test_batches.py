"""Batched augmentation and its random numbers."""
import numpy as np
import pytest
import torch
from scipy import stats

from mmseg_spwc.datasets.batches import (
    BatchRandomFlip,
    BatchRandomShift,
    PixelOrders,
    counter_uniforms,
    splitmix64,
)
from mmseg_spwc.scenario import build_scenario

MASK = 2**64 - 1


def reference(state: int) -> int:
    """SplitMix64 in Python's unbounded integers."""
    z = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def test_splitmix_published_outputs():
    # the generator of seed 1234567 adds its constant before every output
    gamma = 0x9E3779B97F4A7C15
    states = [(1234567 + i * gamma) & MASK for i in range(5)]
    outputs = splitmix64(np.array(states, dtype=np.uint64))
    assert outputs.tolist() == [
        6457827717110365317, 3203168211198807973, 9817491932198370423,
        4593380528125082431, 16408922859458223821
    ]
    assert int(splitmix64(np.uint64(0))) == 0xE220A8397B1DCDAF


def test_uniforms_by_brute_force():
    epochs, indices = np.array([0, 3, 3]), np.array([5, 5, 70000])
    result = counter_uniforms(42, epochs, indices, 2)
    for row, (epoch, index) in enumerate(zip(epochs, indices, strict=True)):
        state = reference(reference(reference(42) ^ int(epoch)) ^ int(index))
        for draw in range(2):
            expected = (reference(state ^ draw) >> 11) / 2**53
            assert result[row, draw] == expected
    assert np.array_equal(
        counter_uniforms(42, 3, indices, 2)[1:], result[1:])


def test_uniforms_are_uniform_and_independent():
    indices = np.arange(5000)
    draws = counter_uniforms(0, 1, indices, 3)
    assert draws.min() >= 0 and draws.max() < 1
    others = [
        counter_uniforms(1, 1, indices, 1), counter_uniforms(
            0, 2, indices, 1), counter_uniforms(0, 1, indices + 5000, 1)
    ]
    columns = np.hstack([draws, *others])  # (5000, 6)
    for column in columns.T:
        assert stats.kstest(column, 'uniform').pvalue > 1e-3
    correlation = np.corrcoef(columns.T) - np.eye(6)
    assert np.abs(correlation).max() < 0.06  # four standard deviations
    after = np.corrcoef(draws[:-1, 0], draws[1:, 0])[0, 1]
    assert abs(after) < 0.06


def images(batch=6, channels=2, height=5, width=7):
    rng = np.random.default_rng(0)
    shape = (batch, channels, height, width)
    return torch.from_numpy(rng.integers(1, 256, shape).astype(np.uint8))


def test_flip():
    x = images(4)
    out = BatchRandomFlip(0.3)(x, torch.tensor([[.1], [.29], [.3], [.9]]))
    for i, flipped in enumerate([True, True, False, False]):
        expected = np.fliplr(x[i, 1].numpy()) if flipped else x[i, 1].numpy()
        assert np.array_equal(out[i, 1].numpy(), expected)
    assert torch.equal(x, images(4)), 'the source must not change'
    with pytest.raises(ValueError, match='prob is 2'):
        BatchRandomFlip(2)


def test_shift_by_brute_force():
    x = images()
    numbers = torch.rand(6, 2, generator=torch.manual_seed(0)).double()
    numbers[0], numbers[1] = 0, 1 - 2**-53
    out = BatchRandomShift(2)(x, numbers)
    assert out.shape == x.shape and out.dtype == torch.uint8
    for i in range(6):
        down, right = (int(n * 5) - 2 for n in numbers[i])
        for y in range(5):
            for c in range(7):
                inside = 0 <= y + down < 5 and 0 <= c + right < 7
                expected = x[i, :, y + down, c + right] if inside else 0
                assert (out[i, :, y, c] == expected).all()
    assert torch.equal(x, images())


def test_shift_reaches_every_place_alike():
    numbers = torch.from_numpy(counter_uniforms(0, 0, np.arange(9000), 2))
    dot = torch.zeros(9000, 1, 3, 3, dtype=torch.uint8)
    dot[:, :, 1, 1] = 1
    places = BatchRandomShift(1)(dot, numbers).sum(0)[0]
    assert stats.chisquare(places.flatten().numpy()).pvalue > 1e-3
    assert places.sum() == 9000
    with pytest.raises(ValueError, match='padding is -1'):
        BatchRandomShift(-1)


@pytest.mark.parametrize('tasks', [
    [1] * 6, [0, 1, 2, 2, 1, 0], [2], [1, 0] * 1001])
def test_pixels_of_every_task_move_as_its_own_order_says(tasks):
    scenario = build_scenario(dict(
        problem='classification', dataset='toy', kind='domain',
        steps=[['p0'], ['p1'], ['p2']], num_classes=6, permute=True))
    images = torch.randint(256, (len(tasks), 2, 3, 4), dtype=torch.uint8)
    moved = PixelOrders(scenario, 12)(images, torch.tensor(tasks))
    for image, other, task in zip(images, moved, tasks, strict=True):
        order = torch.from_numpy(scenario.permutation(task, 12))
        assert torch.equal(other.flatten(1), image.flatten(1)[:, order])


def test_images_are_shifted_by_up_to_four_pixels_unless_told():
    assert BatchRandomShift().padding == 4
