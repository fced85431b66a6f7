"""A training step with EWC: ours against Avalanche's EWC plugin.

    pip install avalanche-lib
    python benchmarks/ewc_step.py [--tasks 1 10 50 100]

Both sides train the Permuted-MNIST network (574 410 parameters) on the same
batch of 200 with the same stored importances and anchors: forward, backward,
penalty, SGD step. Ours should be flat within 5 %, and 3 times (10 tasks) and
10 times (50 tasks) as fast.
"""
import argparse
from collections.abc import Callable
from types import SimpleNamespace

import torch
from _sides import leave_out, medians, mnist_mlp
from torch import Tensor, nn
from torch.nn import functional

from mmseg_spwc.consolidation import QuadraticPenalty
from mmseg_spwc.engine.optim import ConsolidatedOptimWrapper

try:
    from avalanche.training.plugins import EWCPlugin
    from avalanche.training.utils import ParamData
except ImportError:
    leave_out('it needs `pip install avalanche-lib`.')

Task = tuple[dict[str, Tensor], dict[str, Tensor]]


def network() -> nn.Module:
    torch.manual_seed(0)
    return mnist_mlp()


def sgd(model: nn.Module) -> torch.optim.SGD:
    return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def make_tasks(number: int) -> list[Task]:
    shapes = {n: p.shape for n, p in network().named_parameters()}
    torch.manual_seed(1)
    return [tuple({n: 1e-3 * torch.rand(s) for n, s in shapes.items()}
                  for _ in range(2)) for _ in range(number)]


def ours(tasks: list[Task], images: Tensor, labels: Tensor) -> Callable:
    model = network()
    penalty = QuadraticPenalty()
    for importances, anchors in tasks:
        penalty.add(1., importances, anchors)
    wrapper = ConsolidatedOptimWrapper(optimizer=sgd(model))
    wrapper.hold(dict(model.named_parameters()), penalty)
    return lambda: wrapper.update_params(
        functional.cross_entropy(model(images), labels))


def avalanche(tasks: list[Task], images: Tensor, labels: Tensor) -> Callable:
    model = network()
    optimizer = sgd(model)
    plugin = EWCPlugin(ewc_lambda=1., mode='separate')
    for i, (importances, anchors) in enumerate(tasks):
        for kept, tensors in ((plugin.importances, importances),
                              (plugin.saved_params, anchors)):
            kept[i] = {
                n: ParamData(n, init_tensor=t) for n, t in tensors.items()
            }
    strategy = SimpleNamespace(
        model=model, device='cpu',
        clock=SimpleNamespace(train_exp_counter=len(tasks)))

    def step() -> None:
        optimizer.zero_grad()
        strategy.loss = functional.cross_entropy(model(images), labels)
        plugin.before_backward(strategy)
        strategy.loss.backward()
        optimizer.step()

    return step


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument('--tasks', type=int, nargs='+',
                        default=[1, 10, 50, 100])
    parser.add_argument('--repeats', type=int, default=60)
    args = parser.parse_args()
    torch.manual_seed(2)
    batch = torch.rand(200, 1024), torch.randint(10, (200, ))
    tasks = make_tasks(max(args.tasks))
    flat = medians({n: ours(tasks[:n], *batch) for n in args.tasks},
                   10 * args.repeats)
    spread = max(flat.values()) / min(flat.values()) - 1
    times = medians(
        {(side, n): side(tasks[:n], *batch)
         for n in args.tasks for side in (ours, avalanche)}, args.repeats)
    for n in args.tasks:
        mine, rival = times[ours, n], times[avalanche, n]
        print(f'{n:4d} past tasks: ours {mine:7.2f} ms, Avalanche '
              f'{rival:7.2f} ms, ratio {rival / mine:5.1f}')
    print('ours alone: ' + ', '.join(
        f'{n} tasks {ms:.2f} ms' for n, ms in flat.items())
        + f': flat within {spread:.1%}')


if __name__ == '__main__':
    main()
