"""The collapsed penalty against an autograd loop over the tasks.

    python benchmarks/penalty.py [--tasks 1 10 50]

The rival is the naive form most EWC code has: for every task and tensor the
weighted squared distance enters the loss, and autograd differentiates it. It
is written below. Parameters are those of the Permuted-MNIST network, 574 410
numbers.
"""
import argparse
from collections.abc import Iterator

import torch
from _sides import Row, medians, mnist_mlp, report
from torch import Tensor

from mmseg_spwc.consolidation import QuadraticPenalty

Task = tuple[float, dict[str, Tensor], dict[str, Tensor]]


def naive_value(tasks: list[Task], params: dict[str, Tensor]) -> Tensor:
    """The rival: one term per task and tensor."""
    loss = torch.zeros(())
    for weight, importances, anchors in tasks:
        for name, param in params.items():
            distance = (param - anchors[name])**2
            loss = loss + weight * (importances[name] * distance).sum()
    return loss


def compare(tasks: list[Task], params: dict[str, Tensor],
            repeats: int) -> Iterator[Row]:
    """Yield the cost of value and gradient on both sides."""
    penalty = QuadraticPenalty()
    for weight, importances, anchors in tasks:
        penalty.add(weight, importances, anchors)
    for param in params.values():
        param.grad = torch.zeros_like(param)

    @torch.no_grad()
    def value() -> Tensor:
        return penalty.value(params)

    @torch.no_grad()
    def naive() -> Tensor:
        return naive_value(tasks, params)

    error = abs(value() / naive() - 1).item()
    assert error < 1e-4, f'the values differ by {error:.1e}'
    pairs = {
        'value': (value, naive),
        'gradient': (lambda: penalty.add_gradient_(params),
                     lambda: naive_value(tasks, params).backward()),
    }
    for title, sides in pairs.items():
        ours, loop = medians(dict(enumerate(sides)), repeats).values()
        yield Row(f'{title} of the penalty, {len(tasks)} past tasks', ours,
                  loop, 'autograd loop over tasks',
                  setting=f'574 410 parameters, values equal to {error:.0e}')


def measure(args: argparse.Namespace) -> Iterator[Row]:
    torch.manual_seed(0)
    params = dict(mnist_mlp().named_parameters())
    tasks: list[Task] = []
    for count in sorted(args.tasks):
        while len(tasks) < count:
            tasks.append((0.5, {n: torch.rand_like(p)
                                for n, p in params.items()},
                          {n: p.detach() + .01 * torch.randn_like(p)
                           for n, p in params.items()}))
        yield from compare(tasks, params, args.repeats)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--tasks', type=int, nargs='+', default=[1, 10, 50])
    parser.add_argument('--repeats', type=int, default=7)
    report(measure, parser)
