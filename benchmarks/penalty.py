"""The collapsed penalty against an autograd loop over the tasks.

    python benchmarks/penalty.py [--tasks 1 10 50 100]

The rival is the naive form most EWC code has: for every task and tensor the
weighted squared distance enters the loss, and autograd differentiates it. It
is written below. Parameters are those of the Permuted-MNIST network, 574 410
numbers; a hundred tasks take the rival about half a gigabyte.
"""
import argparse

import torch
from _sides import medians, mnist_mlp
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
            repeats: int) -> None:
    """Print the cost of value and gradient on both sides."""
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
    pairs = {
        'value': (value, naive),
        'gradient': (lambda: penalty.add_gradient_(params),
                     lambda: naive_value(tasks, params).backward()),
    }
    for title, sides in pairs.items():
        ours, loop = medians(dict(enumerate(sides)), repeats).values()
        print(f'{len(tasks):4} tasks  {title:8}  ours {ours:8.3f} ms   naive '
              f'autograd loop {loop:9.3f} ms   ratio {loop / ours:7.1f}x')
    print(f'{len(tasks):4} tasks  values differ by {error:.1e}')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--tasks', type=int, nargs='+',
                        default=[1, 10, 50, 100])
    parser.add_argument('--repeats', type=int, default=7)
    args = parser.parse_args()
    torch.manual_seed(0)
    params = dict(mnist_mlp().named_parameters())
    tasks: list[Task] = []
    print(f'torch {torch.__version__}, {torch.get_num_threads()} threads')
    for count in sorted(args.tasks):
        while len(tasks) < count:
            tasks.append((0.5, {n: torch.rand_like(p)
                                for n, p in params.items()},
                          {n: p.detach() + .01 * torch.randn_like(p)
                           for n, p in params.items()}))
        compare(tasks, params, args.repeats)


if __name__ == '__main__':
    main()
