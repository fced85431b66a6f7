"""Per-sample importance in batches against a loop over single samples.

    python benchmarks/importance.py [--samples 2000] [--batch 256]

The rival is the textbook loop: one forward and backward pass per sample,
squared (Fisher) or absolute (MAS) gradients added up. Both sides compute the
same numbers; the largest relative difference is printed beside the ratio.
"""
import argparse
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mmseg_spwc.consolidation import fisher_diagonal, mas_importance


def mlp() -> nn.Module:
    """The network of Permuted-MNIST, 574 410 parameters."""
    return nn.Sequential(
        nn.Linear(1024, 400), nn.ReLU(), nn.Linear(400, 400), nn.ReLU(),
        nn.Linear(400, 10))


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


def timed(function: Callable) -> tuple[float, dict[str, Tensor]]:
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def compare(title: str, model: nn.Module, inputs: Tensor, labels: Tensor,
            batch: int, few: int) -> None:
    """Print one line per importance; the loop runs on ``few`` samples."""
    pairs = list(zip(inputs.split(batch), labels.split(batch), strict=True))
    first = [(inputs[:few], labels[:few])]
    for name, ours, objective, power in (
        ('Fisher', lambda data: fisher_diagonal(model, data, 'empirical'),
         nll, 2),
        ('MAS', lambda data: mas_importance(model, data), squared_norm, 1),
    ):
        ours(first)  # warm up
        seconds, _ = timed(lambda ours=ours: ours(pairs))
        slow, expected = timed(lambda objective=objective, power=power:
                               single_samples(model, *first[0], objective,
                                              power))
        result = ours(first)
        error = max(((result[n] - e).abs().max() / e.abs().max()).item()
                    for n, e in expected.items())
        fast, slow = seconds / len(inputs), slow / few
        print(f'{title:4} {name:6}  ours {1e3 * fast:8.3f} ms/sample   loop '
              f'{1e3 * slow:8.3f} ms/sample   ratio {slow / fast:6.1f}x   '
              f'difference {error:.1e}')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--samples', type=int, default=2000)
    parser.add_argument('--batch', type=int, default=256)
    args = parser.parse_args()
    torch.manual_seed(0)
    print(f'torch {torch.__version__}, {torch.get_num_threads()} threads, '
          f'{args.samples} samples in batches of {args.batch}')
    labels = torch.randint(10, (args.samples, ))
    compare('MLP', mlp(), torch.randn(args.samples, 1024), labels, args.batch,
            few=min(200, args.samples))
    some = min(512, args.samples)
    compare('CNN', cnn(), torch.randn(some, 3, 32, 32), labels[:some],
            args.batch, few=min(100, some))


if __name__ == '__main__':
    main()
