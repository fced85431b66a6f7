"""A training step with EWC: ours against Avalanche's EWC plugin.

    make bench-peers
    python benchmarks/ewc_step.py [--tasks 1 10 50 100]

Both sides train the Permuted-MNIST network (574 410 parameters) on the same
batch of 200 with the same stored importances and anchors: forward, backward,
penalty, SGD step. Ours should be flat within 5 %, and 3 times (10 tasks) and
10 times (50 tasks) as fast.
"""
import argparse
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import torch
from _avalanche import need_avalanche
from _sides import Row, medians, mnist_mlp, report
from mmengine.optim import OptimWrapper
from torch import Tensor, nn
from torch.nn import functional

from mmseg_spwc.consolidation import QuadraticPenalty
from mmseg_spwc.consolidation.updates import GradientUpdate
from mmseg_spwc.engine.optim import Consolidated

AIMS = {10: 3, 50: 10}  # times as fast, by number of past tasks
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
    wrapper = OptimWrapper(optimizer=sgd(model))
    update = GradientUpdate()
    update.attach(penalty, wrapper.optimizer)
    Consolidated(wrapper).hold(dict(model.named_parameters()), update)
    return lambda: wrapper.update_params(
        functional.cross_entropy(model(images), labels))


def avalanche(tasks: list[Task], images: Tensor, labels: Tensor) -> Callable:
    from avalanche.training.plugins import EWCPlugin
    from avalanche.training.utils import ParamData
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


def measure(args: argparse.Namespace) -> Iterator[Row]:
    need_avalanche()
    torch.manual_seed(2)
    batch = torch.rand(200, 1024), torch.randint(10, (200, ))
    tasks = make_tasks(max(args.tasks))
    times = medians(
        {(side, n): side(tasks[:n], *batch)
         for n in args.tasks for side in (ours, avalanche)}, args.repeats)
    setting = '574 410 parameters, batch 200'
    for n in args.tasks:
        yield Row(f'iteration with EWC, {n} past tasks', times[ours, n],
                  times[avalanche, n], 'Avalanche 0.6',
                  1 / AIMS[n] if n in AIMS else None, setting)
    flat = medians({n: ours(tasks[:n], *batch)
                    for n in (args.tasks[0], args.tasks[-1])},
                   5 * args.repeats)
    first, last = flat.values()
    yield Row(f'iteration with EWC, {args.tasks[-1]} past tasks', last, first,
              f'itself with {args.tasks[0]}', 1.05, setting)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--tasks', type=int, nargs='+',
                        default=[1, 10, 50, 100])
    parser.add_argument('--repeats', type=int, default=40)
    report(measure, parser)
