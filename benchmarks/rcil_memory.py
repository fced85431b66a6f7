"""Memory of an iteration of RCIL+spWC at its published size, on a GPU.

The sides are those of ``rcil_step.py``, with R-101 at 512 px and batch 24.
They run on the device that computes nothing (``mmseg_spwc.runtime.abstract``),
where live storages are counted; both networks are among them on all sides.

    python benchmarks/rcil_memory.py
"""
import argparse
from collections.abc import Callable, Iterator

import torch
from _sides import Row, report
from mmengine.registry import init_default_scope
from rcil_step import NETWORKS, build, direct, networks, step

LEAF, IMAGES, SIZE = NETWORKS['r101'][0], 24, 512
BLOCKS = r'backbone\.layer([124]\.\d+|3\.\d)$'


def peak(side: Callable, options: dict) -> float:
    """GiB at the peak of an iteration's forward and backward pass."""
    from mmengine.structures import PixelData
    from mmseg.structures import SegDataSample

    from mmseg_spwc.runtime.abstract import (
        DEVICE,
        abstract_device,
        to_abstract,
    )
    student = build(LEAF, options)
    with abstract_device() as memory:
        to_abstract(student), to_abstract(student.teacher)
        student.priorities = torch.ones(256, device=DEVICE)
        samples = [SegDataSample(gt_sem_seg=PixelData(data=x)) for x in
                   torch.empty(IMAGES, 1, SIZE, SIZE, dtype=torch.long,
                               device=DEVICE)]
        inputs = torch.empty(IMAGES, 3, SIZE, SIZE, device=DEVICE)
        side(student, inputs, samples).backward()
        return memory.peak.total() / 2**30


def measure(args: argparse.Namespace) -> Iterator[Row]:
    init_default_scope('mmseg')
    plain, written = peak(networks, {}), peak(direct, {})
    for what, options, aim in (
            ('peak of memory, RCIL+spWC', {}, None),
            ('peak of memory, with recompute',
             {'model.recompute': BLOCKS}, None)):
        ours = peak(step, options)
        for rival, name in ((plain, 'the networks alone'),
                            (written, 'direct form')):
            yield Row(what, ours, rival, name, aim,
                      f'r101, {IMAGES} x {SIZE}^2, counted, without a GPU',
                      'GiB')


if __name__ == '__main__':
    report(measure)
