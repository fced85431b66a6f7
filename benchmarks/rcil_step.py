"""What RCIL's losses cost beside the networks themselves.

The rival is the least that any distilling method pays: forward and backward
of the doubled student and one forward of the teacher.

    python benchmarks/rcil_step.py
"""
from collections.abc import Callable, Iterator
from functools import partial

import torch
from _sides import Row, medians, report
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmengine.structures import PixelData
from torch.nn import functional

import mmseg_spwc  # noqa: F401  (before anything of mmseg)


def build(size: int):
    from mmseg_spwc.engine import step_config
    from mmseg_spwc.engine.hooks.step_transition_hook import build_plain
    from mmseg_spwc.registry import MODELS
    from mmseg_spwc.scenario import build_scenario
    cfg = Config.fromfile('configs/demo/rcil_shapes-6-1.py')
    cfg.work_dir, cfg.crop_size = 'work_dirs/benchmark', size
    # ResNet-50 at the literature's output stride, small enough for a CPU
    cfg.model.backbone.update(
        depth=50, base_channels=64, stem_channels=64, strides=(1, 2, 2, 1),
        dilations=(1, 1, 1, 2))
    cfg.model.decode_head.update(in_channels=2048, channels=256,
                                 dilations=(1, 6, 12, 18))
    scenario = build_scenario(cfg.scenario.to_dict())
    config = step_config(cfg, scenario, 1).model
    student = MODELS.build(config)
    student.train()
    student.set_teacher(build_plain(config, student.channels[:-1]))
    return student


def batch(size: int, channels: int) -> tuple:
    from mmseg.structures import SegDataSample
    labels = torch.randint(0, channels, (2, 1, size, size))
    samples = [SegDataSample(gt_sem_seg=PixelData(data=x)) for x in labels]
    return torch.randn(2, 3, size, size), samples


def bare_step(student, inputs, samples) -> None:
    labels = torch.stack([s.gt_sem_seg.data[0] for s in samples])
    with torch.no_grad():
        student.teacher.tapped_forward(inputs)
    logits = functional.interpolate(
        student.tapped_forward(inputs).logits, labels.shape[1:],
        mode='bilinear')
    functional.cross_entropy(logits, labels).backward()


def rcil_step(student, inputs, samples) -> None:
    losses = student.loss(inputs, samples)
    sum(v for k, v in losses.items() if 'loss' in k).backward()


def clean(step: Callable, student, inputs, samples) -> None:
    """Take a step and forget its gradients."""
    step(student, inputs, samples)
    student.zero_grad(set_to_none=True)


def measure(args, size: int = 256, repeats: int = 7) -> Iterator[Row]:
    init_default_scope('mmseg')
    student = build(size)
    data = batch(size, sum(student.channels))
    times = medians({step: partial(clean, step, student, *data)
                     for step in (bare_step, rcil_step)}, repeats)
    yield Row('iteration of RCIL', times[rcil_step], times[bare_step],
              'the networks alone', 1.10, f'ResNet-50, 2 x {size}^2')


if __name__ == '__main__':
    report(measure)
