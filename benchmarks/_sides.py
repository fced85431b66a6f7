"""What the benchmarks share: a network, and a fair way to take times."""
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn


def mnist_mlp() -> nn.Module:
    """The network of Permuted-MNIST, 574 410 parameters."""
    return nn.Sequential(
        nn.Linear(1024, 400), nn.ReLU(), nn.Linear(400, 400), nn.ReLU(),
        nn.Linear(400, 10))


def leave_out(reason: str) -> None:
    """End without an error: this machine cannot run a benchmark."""
    print(f'Left out: {reason}')
    sys.exit()


def medians(sides: Mapping[Any, Callable], repeats: int) -> dict[Any, float]:
    """Median milliseconds of every side.

    The sides take turns, so that a busy machine slows all of them alike; a
    first turn warms up.

    Args:
        sides (Mapping): Functions without arguments.
        repeats (int): Turns that count.
    """
    times = {key: [] for key in sides}
    for turn in range(repeats + 1):
        for key, function in sides.items():
            begin = time.perf_counter()
            function()
            if turn:
                times[key].append(1e3 * (time.perf_counter() - begin))
    return {key: statistics.median(values) for key, values in times.items()}
