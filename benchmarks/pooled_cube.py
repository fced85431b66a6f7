"""Time the pooled cube loss against its direct form.

The direct form pools both squared maps with ``F.avg_pool2d`` for each window,
as the definition of the loss reads. Both are run forward and backward on the
same feature map, in turn, in one process; errors are relative to the direct
form in float64.

    python benchmarks/pooled_cube.py [--repeats 5] [--threads 2]
"""
import argparse
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from mmseg_spwc.models.losses.pooled_cube import WINDOWS, pooled_cube

SHAPES = ((2, 256, 64, 64), (2, 1024, 32, 32))
FACTORS = (1.0, 1.0)


def direct(new: Tensor, old: Tensor) -> Tensor:
    """Spatial and channel distances of one map, pooled one by one."""
    new, old = new.square(), old.square()
    spatial = sum(
        _distance(F.avg_pool2d(new, k, 1, k // 2),
                  F.avg_pool2d(old, k, 1, k // 2)) for k in WINDOWS)
    channel = _distance(_pool_channels(new), _pool_channels(old))
    return spatial / len(WINDOWS) / 2 + channel


def fast(new: Tensor, old: Tensor) -> Tensor:
    """The same number by the loss, beside logits that do not differ."""
    logits = new.new_ones(len(new), 2, 1, 1)
    return sum(
        pooled_cube([new, logits], [old, logits], 0, FACTORS, FACTORS))


def _distance(new: Tensor, old: Tensor) -> Tensor:
    return torch.linalg.vector_norm((new - old).flatten(1), dim=1).mean()


def _pool_channels(x: Tensor) -> Tensor:
    return F.avg_pool2d(x.transpose(1, 2), (3, 1), 1, (1, 0))


def run(loss: Callable, new: Tensor, old: Tensor) -> tuple:
    """Return seconds, value and gradient of one forward and backward."""
    new = new.clone().requires_grad_()
    start = time.perf_counter()
    value = loss(new, old)
    value.backward()
    return time.perf_counter() - start, value.detach(), new.grad


def relative_error(got: Tensor, expected: Tensor) -> float:
    return ((got - expected).norm() / expected.norm()).item()


def compare(shape: tuple, repeats: int) -> None:
    """Print one line of timings and two of errors for a shape."""
    new = torch.rand(shape)
    old = new + 0.1 * torch.randn(shape)
    run(fast, new, old)  # fills the cache of matrices
    runs = {'fast': [], 'direct': []}
    for _ in range(repeats):
        runs['fast'].append(run(fast, new, old))
        runs['direct'].append(run(direct, new, old))
    seconds = {
        name: statistics.median(r[0] for r in results)
        for name, results in runs.items()
    }
    print(f'{shape}: direct {1e3 * seconds["direct"]:.1f} ms, '
          f'fast {1e3 * seconds["fast"]:.1f} ms, '
          f'{seconds["direct"] / seconds["fast"]:.1f} times faster')
    _, value, gradient = run(direct, new.double(), old.double())
    for name, results in runs.items():
        print(f'  {name:6} relative error of value '
              f'{relative_error(results[-1][1], value):.1e}, of gradient '
              f'{relative_error(results[-1][2], gradient):.1e}')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--repeats', type=int, default=5)
    parser.add_argument('--threads', type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    for shape in SHAPES:
        compare(shape, args.repeats)


if __name__ == '__main__':
    main()
