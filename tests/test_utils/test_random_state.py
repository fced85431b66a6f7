"""Random streams come back exactly."""
import random

import numpy as np
import torch

from mmseg_spwc.utils.random_state import (
    get_random_state,
    seeded,
    set_random_state,
)


def draw() -> tuple:
    return (random.random(), np.random.rand(), np.random.randn(),
            torch.rand(1).item(), random.gauss(0, 1))


def test_restored_state_gives_the_same_numbers(tmp_path):
    np.random.randn(1)  # leaves a cached normal number behind
    state = get_random_state()
    expected = [draw() for _ in range(3)]
    torch.save(state, tmp_path / 'state.pth')
    state = torch.load(tmp_path / 'state.pth', weights_only=True)
    set_random_state(state)
    assert [draw() for _ in range(3)] == expected


def test_seeded_block_leaves_no_trace_and_repeats():
    state = get_random_state()
    expected = draw()
    set_random_state(state)
    with seeded(1, 2, 3):
        first = draw()
    assert draw() == expected
    with seeded(1, 2, 3):
        assert draw() == first
    with seeded(1, 3, 2):
        assert draw() != first


class FakeCuda:
    """A GPU's generator: its state is the number of draws after a seed."""

    def __init__(self, monkeypatch, initialised=True):
        self.state = torch.tensor([7, 3])
        for name, function in dict(
                is_available=lambda: True,
                is_initialized=lambda: initialised,
                get_rng_state=self.get, set_rng_state=self.set,
                manual_seed=self.seed).items():
            monkeypatch.setattr(torch.cuda, name, function)
        self.initialised = initialised

    def get(self):
        assert self.initialised, 'would start CUDA, which no fork may'
        return self.state.clone()

    def set(self, state):
        self.state = state.clone()

    def seed(self, seed):
        self.state = torch.tensor([seed, 0])

    def draw(self):
        self.state[1] += 1
        return self.state.tolist()


def test_a_gpu_is_seeded_and_kept(monkeypatch):
    gpu = FakeCuda(monkeypatch)
    with seeded(1, 2, 3):
        first = gpu.draw()
    assert gpu.state.tolist() == [7, 3]
    with seeded(1, 2, 3):
        assert gpu.draw() == first
    with seeded(1, 3, 2):
        assert gpu.draw() != first
    assert gpu.state.tolist() == [7, 3]


def test_a_gpu_that_is_not_in_use_is_let_be(monkeypatch):
    """As in a worker, which seeds every sample it loads."""
    gpu = FakeCuda(monkeypatch, initialised=False)
    with seeded(1, 2, 3):
        first = draw()
    assert gpu.state.tolist() == [7, 3]
    monkeypatch.undo()
    with seeded(1, 2, 3):
        assert draw() == first
