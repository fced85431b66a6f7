"""A whole Permuted-MNIST run with EWC: the toolkit, a bare loop, Avalanche.

    python benchmarks/permuted_mnist.py [DATA_ROOT] [--tasks 10]

Every side trains a 1024-400-400-10 network on the same tasks (two epochs,
batch 128, SGD) and, after every task, scores it on the validation and test
images of all tasks so far. The bare loop is the toolkit's mathematics
without the toolkit: what it leaves out is config, logging, guards,
checkpoints, record and hooks. Avalanche runs its own EWC strategy.

DATA_ROOT holds MNIST's IDX files. Without it 20 000 images are generated
from the digits of scikit-learn. Each side runs in a process of its own, with
the same imports, so that peaks of memory can be compared. The sides take
turns, a task each, so that whatever changes the machine's pace slows all of
them alike.
"""
import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import torch
from _avalanche import need_avalanche
from _digits import write_digits
from _sides import Row, clock, mnist_mlp, report
from mmengine.config import Config
from mmengine.hooks import Hook
from torch import Tensor, nn
from torch.nn import functional

from mmseg_spwc.config.step import scenario_of, step_config
from mmseg_spwc.consolidation import QuadraticPenalty, fisher_diagonal
from mmseg_spwc.datasets.images.source import load_source
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.scenario import stratified_split

CONFIG = Path(__file__).parents[1] / (
    'configs/classification/ewc/ewc_mlp_permuted-mnist.py')
READY = 'ready for the next task'
SIDES = dict(bare='bare PyTorch loop', avalanche='Avalanche 0.6')
AIMS = dict(bare=1.15, avalanche=1 / 3)


class Stopwatch:
    """CPU time of every task's iterations.

    In turns with other sides, a task begins with a line of input.
    """

    def __init__(self) -> None:
        self.tasks: list[list[float]] = []
        self.in_turns = False
        self.waited = 0.

    def begin(self, new_task: bool) -> None:
        if new_task:
            self.tasks.append([0., 0])
            if self.in_turns:
                self._wait()
        self.start = clock()

    def _wait(self) -> None:
        began = time.perf_counter()
        print(READY, flush=True)
        sys.stdin.readline()
        self.waited += time.perf_counter() - began

    def end(self, iterations: int) -> None:
        self.tasks[-1][0] += clock() - self.start
        self.tasks[-1][1] += iterations

    def milliseconds(self) -> list[float]:
        return [1e3 * seconds / number for seconds, number in self.tasks]


WATCH = Stopwatch()


@HOOKS.register_module()
class StopwatchHook(Hook):

    def before_train_epoch(self, runner) -> None:
        WATCH.begin(runner.epoch == 0)

    def after_train_epoch(self, runner) -> None:
        WATCH.end(len(runner.train_dataloader))


def toolkit(cfg: Config) -> list:
    """Run the config; return the accuracies after the last task."""
    cfg.custom_hooks = [dict(type='mmseg_spwc.StopwatchHook')]
    return ContinualRunner(cfg).train().steps[-1]['accuracy_by_step']


class Data:
    """The images of all tasks: train, held out and test."""

    def __init__(self, cfg: Config) -> None:
        scenario = scenario_of(cfg)
        images, labels = _read(cfg, cfg.train_dataloader)
        train, held = (torch.from_numpy(part) for part in stratified_split(
            labels.numpy(), cfg.heldout.ratio, scenario.seed))
        self.train = images[train], labels[train]
        self.held = images[held], labels[held]
        self.test = _read(cfg, cfg.test_dataloader)
        self.orders = [torch.from_numpy(scenario.permutation(task, 1024))
                       for task in range(scenario.num_steps)]


def _read(cfg: Config, loader: dict) -> tuple[Tensor, Tensor]:
    source = load_source(dict(loader.dataset, data_root=cfg.data_root))
    return source.images.flatten(1), source.labels


def inputs_of(images: Tensor, order: Tensor) -> Tensor:
    return images[:, order].float() / 255


def sgd(model: nn.Module, cfg: Config) -> torch.optim.SGD:
    return torch.optim.SGD(model.parameters(), **{
        k: v for k, v in cfg.optim_wrapper.optimizer.items() if k != 'type'})


def consolidation_of(cfg: Config) -> Config:
    """The options of the hook, as the last step has them."""
    scenario = scenario_of(cfg)
    hooks = step_config(cfg, scenario, scenario.num_steps - 1).custom_hooks
    return next(h for h in hooks if h.type.endswith('ConsolidationHook'))


def bare(cfg: Config) -> list:
    """The same run, written out."""
    data, options = Data(cfg), consolidation_of(cfg)
    torch.manual_seed(0)
    model, penalty = mnist_mlp(), QuadraticPenalty()
    params = dict(model.named_parameters())
    for task, order in enumerate(data.orders):
        train_task(model, penalty, data.train, order, cfg)
        importances = fisher_diagonal(
            model, _batches(data.train, order, cfg), 'sample',
            options.n_samples)
        penalty.add(options.strength / 2, importances,
                    {name: p.detach().clone() for name, p in params.items()})
        for part in (data.held, data.test):
            row = [accuracy(model, *part, o)
                   for o in data.orders[:task + 1]]
    return row


def _batches(part: tuple, order: Tensor, cfg: Config) -> Iterator[tuple]:
    images, labels = part
    for batch in torch.randperm(len(labels)).split(cfg.total_batch_size):
        yield inputs_of(images[batch], order), labels[batch]


def train_task(model: nn.Module, penalty: QuadraticPenalty, part: tuple,
               order: Tensor, cfg: Config) -> None:
    optimizer = sgd(model, cfg)
    group, params = optimizer.param_groups[0], dict(model.named_parameters())
    for epoch in range(cfg.train_cfg.max_epochs):
        WATCH.begin(epoch == 0)
        for x, y in _batches(part, order, cfg):
            loss = functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            penalty.proximal_(params, group['lr'], group['momentum'])
        WATCH.end(-(-len(part[0]) // cfg.total_batch_size))


@torch.no_grad()
def accuracy(model: nn.Module, images: Tensor, labels: Tensor,
             order: Tensor) -> float:
    hits = 0
    for x, y in zip(images.split(1000), labels.split(1000), strict=True):
        hits += (model(inputs_of(x, order)).argmax(1) == y).sum().item()
    return hits / len(labels)


def avalanche(cfg: Config) -> list:
    """Avalanche's EWC strategy on the same tasks."""
    from _avalanche import ewc_run
    torch.manual_seed(0)
    model = mnist_mlp()
    data, options = Data(cfg), consolidation_of(cfg)
    # Its Fisher information is that of a batch's mean, about B times
    # smaller, but B times the strength diverges: its update is explicit.
    return ewc_run(data, model, sgd(model, cfg), 3 * options.strength,
                   cfg.train_cfg.max_epochs, cfg.total_batch_size, WATCH)


def config(args: argparse.Namespace, folder: str) -> Config:
    cfg = Config.fromfile(CONFIG)
    cfg.data_root = args.data_root or folder
    cfg.scenario.name = str(args.tasks)
    cfg.work_dir, cfg.experiment_name = f'{folder}/run', 'benchmark'
    return cfg


def run_side(side: Callable, cfg: Config) -> dict:
    """What a side costs, and how well it did."""
    begin, began = clock(), time.perf_counter()
    final = side(cfg)
    return dict(
        cpu=clock() - begin,
        wall=time.perf_counter() - began - WATCH.waited,
        iteration=WATCH.milliseconds(),
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        accuracy=100 * sum(final) / len(final))


def measure(args: argparse.Namespace) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        if not args.data_root:
            write_digits(Path(folder), args.images)
        if args.side:
            WATCH.in_turns = args.turns
            if args.side == 'avalanche':
                need_avalanche()
            print(json.dumps(run_side(globals()[args.side],
                                      config(args, folder))))
            return
        costs = in_turns(args, folder)
    data = 'MNIST' if args.data_root else 'generated digits'
    setting = f'Permuted-MNIST with EWC, {args.tasks} tasks, {data}'
    for side, name in SIDES.items():
        if costs[side]:
            yield from rows(costs['toolkit'], costs[side], name, AIMS[side],
                            setting)


def in_turns(args: argparse.Namespace, folder: str) -> dict[str, dict]:
    """Run all sides, a task each in turn; return their costs."""
    costs = {}
    running = {side: _turns(side, args, folder)
               for side in ('toolkit', *SIDES)}
    while running:
        for side, turns in list(running.items()):
            try:
                next(turns)
            except StopIteration as end:
                costs[side] = end.value
                del running[side]
    return costs


def _turns(side: str, args: argparse.Namespace,
           folder: str) -> Generator[None, None, dict]:
    """Run a side in a process as far as its next task; return its costs."""
    command = [sys.executable, __file__, args.data_root or folder, '--turns',
               '--side', side, '--tasks', str(args.tasks)]
    line = ''
    with subprocess.Popen(command, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.strip() == READY:
                yield
                process.stdin.write('\n')
                process.stdin.flush()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return _told(side, line)


def _told(side: str, last: str) -> dict:
    if not last.startswith('{'):
        print(last, end='')  # it says why
        return {}
    found = json.loads(last)
    print(f'{side}: {found["wall"]:.1f} s, {found["cpu"]:.1f} s of CPU, '
          f'accuracy {found["accuracy"]:.2f} %', flush=True)
    return found


def rows(ours: dict, rival: dict, name: str, aim: float,
         setting: str) -> Iterator[Row]:
    def row(what: str, key: str, aim: float | None, unit: str, **kwargs):
        return Row(what, ours[key], rival[key], name, aim, setting, unit,
                   **kwargs)

    yield row('whole run, CPU time', 'cpu', aim, 's')
    yield row('whole run, time on the wall', 'wall', None, 's')
    last = len(ours['iteration'])
    for task in dict.fromkeys((1, last)):
        yield Row(f'iteration in task {task}', ours['iteration'][task - 1],
                  rival['iteration'][task - 1], name, None, setting)
    yield row('peak memory', 'memory', None, 'MB')
    yield row('final accuracy', 'accuracy', None, '%', more_is_better=True)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('data_root', nargs='?')
    parser.add_argument('--tasks', type=int, default=10)
    parser.add_argument('--images', type=int, default=20000,
                        help='training images that are generated')
    parser.add_argument('--side', help='run one side and print its costs')
    parser.add_argument('--turns', action='store_true',
                        help='with --side: await a line before every task')
    report(measure, parser)
