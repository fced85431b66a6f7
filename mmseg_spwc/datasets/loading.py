"""What data loaders are given: samplers, collation and workers.

MMEngine seeds a worker's random numbers once, so augmentation depends on the
number of workers and of processes and does not survive a resume. The samplers
here yield ``(index, epoch)``; :class:`ContinualSegDataset` seeds its
augmentation from that pair, which makes a sample the same wherever and
whenever it is drawn.
"""
import atexit
import multiprocessing
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from mmengine.dataset import (
    DefaultSampler,
    InfiniteSampler,
    pseudo_collate,
    worker_init_fn,
)
from mmengine.dist import get_rank

from mmseg_spwc.memory import drawing_probabilities, epoch_order, epoch_size
from mmseg_spwc.registry import DATA_SAMPLERS, FUNCTIONS

AGAIN = 2**32  # more than there are epochs


@DATA_SAMPLERS.register_module()
class SeededSampler(DefaultSampler):
    """``DefaultSampler`` that yields ``(index, epoch)``.

    With several processes it drops the odd samples of an epoch, where
    ``DefaultSampler`` repeats some: repeating can add a batch, and then an
    epoch's length would depend on the number of processes.
    """

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.round_up = False
        self.num_samples = len(self.dataset) // self.world_size
        self.total_size = self.num_samples * self.world_size

    def __iter__(self) -> Iterator[tuple]:
        return ((index, self.epoch) for index in super().__iter__())


@DATA_SAMPLERS.register_module()
class ReplaySampler(SeededSampler):
    """``SeededSampler`` that mixes a step's samples with its memory.

    Args:
        dataset: That of a step, which has a ``replay``.
        batch_size (int): Of every process.
        **options: Those of ``SeededSampler``.
    """

    def __init__(self, dataset, batch_size: int, **options) -> None:
        super().__init__(dataset, **options)
        self.probabilities: np.ndarray | None = None
        if not dataset.memory:  # a first step is that of any method
            return
        self.mixture = (dataset.new, len(dataset.memory),
                        batch_size * self.world_size, dataset.replay.share)
        self.num_samples = epoch_size(*self.mixture) // self.world_size
        self.total_size = self.num_samples * self.world_size

    def draw_by(self, v: Sequence[float], unit: str) -> None:
        """Draw by the weights of classes or steps, from the next epoch on."""
        self.probabilities = drawing_probabilities(
            [{sample.step} if unit == 'step' else sample.classes
             for sample in self.dataset.memory], dict(enumerate(v)))

    def __iter__(self) -> Iterator[tuple]:
        if not self.dataset.memory:
            yield from super().__iter__()
            return
        order = epoch_order(*self.mixture, (self.seed, self.epoch),
                            self.probabilities)
        times: Counter = Counter()
        for place, index in enumerate(order[:self.total_size].tolist()):
            # what comes again within an epoch is augmented anew
            if place % self.world_size == self.rank:
                yield index, self.epoch + AGAIN * times[index]
            times[index] += 1


@DATA_SAMPLERS.register_module()
class SeededInfiniteSampler(InfiniteSampler):
    """``InfiniteSampler`` that yields ``(index, pass over the data)``."""

    def _infinite_indices(self) -> Iterator[tuple]:
        for drawn, index in enumerate(super()._infinite_indices()):
            yield index, drawn // self.size


@FUNCTIONS.register_module()
def collate_batches(batch: Any) -> Any:
    """Let a batch pass that the dataset has made as a whole; collate a list
    of samples as MMEngine does by default."""
    return batch if isinstance(batch, dict) else pseudo_collate(batch)


@FUNCTIONS.register_module()
def steady_worker_init(worker_id: int, num_workers: int, seed: int,
                       **options) -> None:
    """Seed a worker as MMEngine does, and let it survive one SIGTERM.

    Schedulers and ``torchrun`` send it to all processes of a job. If its
    workers died at once, a run could not finish its iteration and save it.
    They go when their loader or its process does, or with a second SIGTERM.
    """
    worker_init_fn(worker_id, num_workers, get_rank(), seed, **options)
    signal.signal(
        signal.SIGTERM,
        lambda number, frame: signal.signal(number, signal.SIG_DFL))


@atexit.register
def _end_workers() -> None:
    """Do not wait for the workers of a run that was stopped or has failed,
    as Python does after one SIGTERM, which they survive."""
    workers = [c for c in multiprocessing.active_children() if c.daemon]
    if workers:
        # torch would tell of their death as of a mishap
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for worker in workers:
        worker.kill()
