"""Avalanche's side of the benchmarks.

It comes from a folder of its own, see ``make bench-peers``.
"""
import importlib.util
import sys
from types import ModuleType

from _sides import PEERS, leave_out
from torch import Tensor, nn
from torch.utils.data import Dataset

import mmseg_spwc  # noqa: F401  (lets torchvision be imported)


def need_avalanche() -> None:
    """Make ``import avalanche`` work, or leave the benchmark out."""
    if str(PEERS) not in sys.path:
        sys.path.append(str(PEERS))
    if importlib.util.find_spec('wandb') is None:
        # imported by one of Avalanche's charts, which nothing here draws
        sys.modules.setdefault('wandb', ModuleType('wandb'))
    try:
        import avalanche  # noqa: F401
    except ImportError as error:
        leave_out(f'Avalanche is not installed (make bench-peers): {error}.')


def ewc_run(data, model, optimizer, strength: float, epochs: int,
            batch: int, watch) -> list[float]:
    """Train its EWC strategy on all tasks; accuracies after the last one.

    Args:
        data: ``train``, ``held`` and ``test`` images and labels, and the
            ``orders`` of the pixels of every task.
        model (nn.Module): The network.
        optimizer (Optimizer): Its optimiser.
        strength (float): Of the penalty, which has no 1/2.
        epochs (int): Per task.
        batch (int): Size of a batch.
        watch: Times the iterations of every task.
    """
    from avalanche.benchmarks import (
        benchmark_from_datasets,
        task_incremental_benchmark,
    )
    from avalanche.benchmarks.utils import as_classification_dataset
    from avalanche.evaluation.metrics import accuracy_metrics
    from avalanche.training.plugins import EvaluationPlugin
    from avalanche.training.supervised import EWC
    streams = task_incremental_benchmark(benchmark_from_datasets(**{
        name: [as_classification_dataset(Permuted(*getattr(data, name), order))
               for order in data.orders]
        for name in ('train', 'held', 'test')})).streams
    strategy = EWC(
        model=model, optimizer=optimizer, criterion=nn.CrossEntropyLoss(),
        ewc_lambda=strength, train_mb_size=batch, train_epochs=epochs,
        eval_mb_size=1000, plugins=[_stopwatch(watch)],
        evaluator=EvaluationPlugin(accuracy_metrics(experience=True),
                                   loggers=[]))
    for task, experience in enumerate(streams['train']):
        strategy.train(experience)
        strategy.eval(streams['held'][:task + 1])
        found = strategy.eval(streams['test'][:task + 1])
    return [value for key, value in sorted(found.items())
            if key.startswith('Top1_Acc_Exp') and 'test_stream' in key]


class Permuted(Dataset):
    """A task's images, permuted one by one as Avalanche's own are."""

    def __init__(self, images: Tensor, labels: Tensor,
                 order: Tensor) -> None:
        self.images, self.order = images, order
        self.targets = labels.tolist()

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = self.images[index][self.order]
        return image.float() / 255, self.targets[index]


def _stopwatch(watch):
    from avalanche.core import SupervisedPlugin

    class Plugin(SupervisedPlugin):

        def before_training_epoch(self, strategy, **kwargs) -> None:
            watch.begin(strategy.clock.train_exp_epochs == 0)

        def after_training_epoch(self, strategy, **kwargs) -> None:
            watch.end(len(strategy.dataloader))

    return Plugin()
