"""Per-sample importance in batches against a loop over single samples.

    python benchmarks/importance.py [--samples 2000] [--batch 256]

The rival is the textbook loop: one forward and backward pass per sample,
squared (Fisher) or absolute (MAS) gradients added up. Both sides compute the
same numbers; the largest relative difference is part of the row.
"""
import argparse
import copy
from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch.nn.functional as F
from _sides import Row, medians, mnist_mlp, report
from torch import Tensor, nn

from mmseg_spwc.consolidation import fisher_diagonal, mas_importance


def cnn() -> nn.Module:
    """A small VGG for 32x32 images."""
    widths, layers = (3, 64, 64, 128, 128), []
    for previous, width in zip(widths, widths[1:], strict=False):
        layers += [
            nn.Conv2d(previous, width, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2)
        ]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 10))


def nll(logits: Tensor, label: Tensor) -> Tensor:
    return F.cross_entropy(logits, label)


def squared_norm(logits: Tensor, label: Tensor) -> Tensor:
    return logits.square().sum()


def single_samples(model: nn.Module, inputs: Tensor, labels: Tensor,
                   objective: Callable, power: int) -> dict[str, Tensor]:
    """The rival."""
    params = dict(model.named_parameters())
    sums = {name: torch.zeros_like(p) for name, p in params.items()}
    for x, y in zip(inputs.split(1), labels.split(1), strict=True):
        value = objective(model(x), y)
        grads = torch.autograd.grad(value, list(params.values()))
        for total, grad in zip(sums.values(), grads, strict=True):
            total += grad.abs().pow_(power)
    return {name: total / len(inputs) for name, total in sums.items()}


def largest_difference(result: dict[str, Tensor],
                       expected: dict[str, Tensor]) -> float:
    return max(((result[name] - value).abs().max() / value.abs().max()).item()
               for name, value in expected.items())


def compare(title: str, model: nn.Module, inputs: Tensor, labels: Tensor,
            batch: int, few: int) -> Iterator[Row]:
    """Yield one row per importance; the loop runs on ``few`` samples.

    The sides are compared in double precision, where no ReLU changes sides
    by rounding.
    """
    pairs = list(zip(inputs.split(batch), labels.split(batch), strict=True))
    exact, some = copy.deepcopy(model).double(), slice(20)
    for name, ours, objective, power in (
        ('Fisher', lambda m, data: fisher_diagonal(m, data, 'empirical'),
         nll, 2),
        ('MAS', mas_importance, squared_norm, 1),
    ):
        fast, slow = medians(dict(
            ours=partial(ours, model, pairs),
            loop=partial(single_samples, model, inputs[:few], labels[:few],
                         objective, power)), repeats=3).values()
        sample = inputs[some].double(), labels[some]
        error = largest_difference(
            ours(exact, [sample]),
            single_samples(exact, *sample, objective, power))
        yield Row(f'{name} importance of a sample, {title}',
                  fast / len(inputs), slow / few, 'loop over samples',
                  setting=f'batches of {batch}, equal to {error:.0e}')


def measure(args: argparse.Namespace) -> Iterator[Row]:
    torch.manual_seed(0)
    labels = torch.randint(10, (args.samples, ))
    yield from compare(
        'MLP', mnist_mlp(), torch.randn(args.samples, 1024), labels,
        args.batch, few=min(200, args.samples))
    some = min(512, args.samples)
    yield from compare(
        'CNN', cnn(), torch.randn(some, 3, 32, 32), labels[:some],
        min(args.batch, 64), few=min(100, some))


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--samples', type=int, default=2000)
    parser.add_argument('--batch', type=int, default=256)
    report(measure, parser)
