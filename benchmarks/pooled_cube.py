"""Time the pooled cube loss against its direct form.

The direct form pools both squared maps with ``F.avg_pool2d`` for each window,
as the definition of the loss reads. Both are run forward and backward on the
same feature map, in turn, in one process; errors are relative to the direct
form in float64.

    python benchmarks/pooled_cube.py [--repeats 3]
"""
import argparse
from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch.nn.functional as F
from _sides import Row, medians, report
from torch import Tensor

from mmseg_spwc.models.losses import PooledCubeLoss
from mmseg_spwc.models.losses.features import WINDOWS

SHAPES = ((2, 256, 64, 64), (2, 1024, 32, 32), (8, 320, 8, 8))
LOSS = PooledCubeLoss(factor=1.0, last_factor=1.0)


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
    return sum(LOSS([new, logits], [old, logits], num_new=0).values())


def _distance(new: Tensor, old: Tensor) -> Tensor:
    return torch.linalg.vector_norm((new - old).flatten(1), dim=1).mean()


def _pool_channels(x: Tensor) -> Tensor:
    return F.avg_pool2d(x.transpose(1, 2), (3, 1), 1, (1, 0))


def gradient(loss: Callable, new: Tensor, old: Tensor) -> Tensor:
    """One forward and backward pass."""
    new = new.clone().requires_grad_()
    loss(new, old).backward()
    return new.grad


def relative_error(got: Tensor, expected: Tensor) -> float:
    return ((got - expected).norm() / expected.norm()).item()


def compare(shape: tuple, repeats: int) -> Row:
    new = torch.rand(shape)
    old = new + 0.1 * torch.randn(shape)
    ours, rival = medians(
        {loss: partial(gradient, loss, new, old) for loss in (fast, direct)},
        repeats).values()
    exact = gradient(direct, new.double(), old.double())
    errors = [relative_error(gradient(loss, new, old), exact)
              for loss in (fast, direct)]
    return Row(
        f'pooled cube loss, {shape[1]} channels', ours, rival, 'avg_pool2d',
        setting=f'{shape}, forward and backward; error of the gradient '
        f'{errors[0]:.0e}, rival\'s {errors[1]:.0e}')


def measure(args: argparse.Namespace) -> Iterator[Row]:
    torch.manual_seed(0)
    for shape in SHAPES:
        yield compare(shape, args.repeats)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--repeats', type=int, default=3)
    report(measure, parser)
