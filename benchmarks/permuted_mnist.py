"""A whole Permuted-MNIST run: the toolkit against a bare PyTorch loop.

    python benchmarks/permuted_mnist.py [DATA_ROOT] [--tasks 10]

Both sides train the same network on the same tasks (two epochs, batch 128,
SGD) and score it on validation and test sets of all tasks so far after every
task. The toolkit also logs, guards, writes checkpoints and a record. It
should take at most 1.5 times as long. DATA_ROOT holds MNIST's IDX files; it is
the config's if left out.
"""
import argparse
import tempfile
import time
from pathlib import Path

import torch
from _sides import leave_out, mnist_mlp
from mmengine.config import Config
from torch import Tensor, nn
from torch.nn import functional

from mmseg_spwc.datasets.images import load_source
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.engine.step_config import scenario_of
from mmseg_spwc.scenario import stratified_split

CONFIG = Path(__file__).parents[1] / (
    'configs/classification/finetune/finetune_mlp_permuted-mnist.py')


def toolkit(cfg: Config) -> list:
    """Run the config; return the accuracy matrix."""
    steps = ContinualRunner(cfg).train().steps
    return [step['accuracy_by_step'] for step in steps]


def bare_loop(cfg: Config) -> list:
    """The same run, written out."""
    scenario = scenario_of(cfg)
    images, labels, test_images, test_labels = read(cfg)
    train, held = stratified_split(
        labels.numpy(), cfg.heldout.ratio, scenario.seed)
    train, held = torch.from_numpy(train), torch.from_numpy(held)
    torch.manual_seed(0)
    model = mnist_mlp()
    orders, matrix = [], []
    for task in range(scenario.num_steps):
        orders.append(torch.from_numpy(scenario.permutation(task, 1024)))
        optimizer = torch.optim.SGD(
            model.parameters(), **{
                k: v for k, v in cfg.optim_wrapper.optimizer.items()
                if k != 'type'})
        for _ in range(cfg.train_cfg.max_epochs):
            shuffled = train[torch.randperm(len(train))]
            for batch in shuffled.split(cfg.total_batch_size):
                inputs = images[batch][:, orders[-1]].float() / 255
                loss = functional.cross_entropy(model(inputs), labels[batch])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        for order in orders:
            accuracy(model, images[held], labels[held], order)
        matrix.append([accuracy(model, test_images, test_labels, order)
                       for order in orders])
    return matrix


@torch.no_grad()
def accuracy(model: nn.Module, images: Tensor, labels: Tensor,
             order: Tensor) -> float:
    hits = 0
    for x, y in zip(images.split(1000), labels.split(1000), strict=True):
        hits += (model(x[:, order].float() / 255).argmax(1) == y).sum().item()
    return hits / len(labels)


def read(cfg: Config) -> list:
    tensors = []
    for loader in (cfg.train_dataloader, cfg.test_dataloader):
        source = load_source(dict(loader.dataset, data_root=cfg.data_root))
        tensors += [source.images.flatten(1), source.labels]
    return tensors


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument('data_root', nargs='?')
    parser.add_argument('--tasks', default='10')
    args = parser.parse_args()
    cfg = Config.fromfile(CONFIG)
    cfg.data_root = args.data_root or cfg.data_root
    if not Path(cfg.data_root).is_dir():
        leave_out(f'there is no MNIST at {cfg.data_root}.')
    cfg.scenario.name = args.tasks
    cfg.experiment_name = 'benchmark'
    times, results = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        cfg.work_dir = folder
        for side in (bare_loop, toolkit):
            begin = time.perf_counter()
            results[side] = side(cfg)
            times[side] = time.perf_counter() - begin
    for side, seconds in times.items():
        final = results[side][-1]
        print(f'{side.__name__:10s} {seconds:6.1f} s, final accuracy '
              f'{sum(final) / len(final):.3f}, first task '
              f'{results[side][0][0]:.3f}')
    print(f'ratio {times[toolkit] / times[bare_loop]:.2f} (target 1.5)')


if __name__ == '__main__':
    main()
