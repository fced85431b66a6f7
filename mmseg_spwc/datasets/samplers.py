"""Samplers that tell the data set the epoch of every sample.

MMEngine seeds a worker's random numbers once, so augmentation depends on the
number of workers and of processes and does not survive a resume. These
samplers yield ``(index, epoch)``; :class:`ContinualSegDataset` seeds its
augmentation from that pair, which makes a sample the same wherever and
whenever it is drawn.
"""
import itertools
from collections.abc import Iterator

import torch
from mmengine.dataset import DefaultSampler, InfiniteSampler

from mmseg_spwc.registry import DATA_SAMPLERS


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
class SeededInfiniteSampler(InfiniteSampler):
    """``InfiniteSampler`` that yields ``(index, pass over the data)``."""

    def _infinite_indices(self) -> Iterator[tuple]:
        generator = torch.Generator()
        generator.manual_seed(self.seed)
        for epoch in itertools.count():
            if self.shuffle:
                order = torch.randperm(self.size, generator=generator)
            else:
                order = torch.arange(self.size)
            for index in order.tolist():
                yield index, epoch
