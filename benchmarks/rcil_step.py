"""One training step of RCIL+spWC: beside the networks, and beside itself.

Four sides take turns on the same batch:

- ``networks``: the least that any distilling method pays, forward and
  backward of the doubled student with plain cross entropy, forward of the
  teacher;
- ``step``: RCIL+spWC as it is trained;
- ``direct``: the same losses as they are written down, pooled cubes by
  ``avg_pool2d`` for each window and map, at the cost of autograd;
- ``light``: the step with the options that change rounding alone, or the
  teacher's precision.

That all of them have one value is tested in ``tests/test_benchmarks.py``.

    python benchmarks/rcil_step.py [mobilenetv2|r101] [--repeats 9]
"""
import argparse
import copy
from collections.abc import Callable, Iterator
from functools import partial

import torch
from _sides import Row, medians, report
from mmengine.config import Config
from mmengine.model import revert_sync_batchnorm
from mmengine.registry import init_default_scope
from mmengine.structures import PixelData
from torch import Tensor, nn
from torch.nn import functional as F

import mmseg_spwc  # noqa: F401  (before anything of mmseg)

# leaf, images in a batch and their side
NETWORKS = {
    'mobilenetv2': ('rcil_deeplabv3-mobilenetv2-d16_voc12aug-128x128', 8, 128),
    'r101': ('rcil_deeplabv3-r101-d16_voc12aug-512x512', 2, 128),
}
# RCIL as it was published, whatever a leaf adds for its short steps
PUBLISHED = {
    'model.frozen_norm': None,
    'model.losses.pixel': dict(
        _delete_=True, type='mmseg_spwc.UnbiasedCrossEntropyLoss')}
LIGHT = {
    'model.channels_last': True, 'model.teacher_dtype': 'bfloat16',
    'model.rc.folded': True}
WINDOWS = (4, 8, 12, 16, 20, 24)


def build(leaf: str, options: dict) -> nn.Module:
    """The student of step 1 of VOC 15-1 and its teacher."""
    from mmseg_spwc.config.step import scenario_of, step_config
    from mmseg_spwc.engine.hooks.step_transition_hook import build_plain
    from mmseg_spwc.registry import MODELS
    cfg = Config.fromfile(f'configs/rcil/{leaf}.py')
    cfg.merge_from_dict({
        'work_dir': 'work_dirs/benchmark', 'scenario.name': '15-1'})
    made = step_config(cfg, scenario_of(cfg), 1)
    made.merge_from_dict({**PUBLISHED, **options})
    config = made.model
    torch.manual_seed(0)
    student = MODELS.build(copy.deepcopy(config))
    teacher = build_plain(config, student.channels[:-1])
    student.set_teacher(revert_sync_batchnorm(teacher))
    student.set_priorities(torch.rand(student.num_old).tolist())
    return revert_sync_batchnorm(student).train()


def batch(images: int, size: int, channels: int) -> tuple:
    from mmseg.structures import SegDataSample
    labels = torch.randint(0, channels, (images, 1, size, size))
    samples = [SegDataSample(gt_sem_seg=PixelData(data=x)) for x in labels]
    return torch.randn(images, 3, size, size), samples


def passes(student: nn.Module, inputs: Tensor) -> tuple:
    with torch.no_grad():
        old = student.teacher.tapped_forward(inputs)
    return student.tapped_forward(inputs), old


def networks(student: nn.Module, inputs: Tensor, samples: list) -> Tensor:
    labels = torch.cat([s.gt_sem_seg.data for s in samples])
    new, _ = passes(student, inputs)
    logits = student.upsample(new.features.logits, labels.shape[1:])
    return F.cross_entropy(logits, labels)


def step(student: nn.Module, inputs: Tensor, samples: list) -> Tensor:
    losses = student.loss(inputs, samples)
    return sum(v for k, v in losses.items() if 'loss' in k)


def direct(student: nn.Module, inputs: Tensor, samples: list) -> Tensor:
    """The step's losses, one term of their formulas after the other."""
    labels = torch.cat([s.gt_sem_seg.data for s in samples])
    new, old = passes(student, inputs)
    logits, old_logits = (
        student.upsample(x.features.logits, labels.shape[1:])
        for x in (new, old))
    num_old = student.num_old
    p, q = logits.softmax(1), old_logits.softmax(1)
    seen = old_logits.argmax(1).where(labels < num_old, labels)
    hit = p[:, :num_old].sum(1).where(
        labels < num_old, p.gather(1, labels[:, None])[:, 0])
    pixel = -(student.priorities[seen] * hit.log()).mean()
    background = p[:, 0] + p[:, num_old:].sum(1)
    kept = torch.cat([background[:, None], p[:, 1:num_old]], 1)
    kd = -(q * kept.log()).sum(1).mean() / num_old
    return pixel + student.losses['kd'].loss_weight * kd + cube_directly(
        student.losses['cube'], new.features, old.features, student.num_new)


def cube_directly(loss: nn.Module, features: list, old_features: list,
                  num_new: int) -> Tensor:
    """Pooled cubes of squared maps, pooled one by one."""
    channels, num_old = features[-1].shape[1], old_features[-1].shape[1]
    logits = features[-1]
    folded = torch.cat([logits[:, :1] + logits[:, num_old:].sum(
        1, keepdim=True), logits[:, 1:num_old]], 1)
    last = len(features) - 1
    spatial = channel = 0
    for i, (new, old) in enumerate(
            zip([*features[:-1], folded], old_features, strict=True)):
        new, old = new.square(), old.square()
        spatial = spatial + loss.factors[i == last] * sum(
            _distance(F.avg_pool2d(new, k, 1, k // 2),
                      F.avg_pool2d(old, k, 1, k // 2)) for k in WINDOWS)
        if i < last:
            channel = channel + loss.channel_factors[i == last - 1] * \
                _distance(_pool_channels(new), _pool_channels(old))
    growth = (channels / num_new)**0.5
    return growth * (
        spatial / len(WINDOWS) / len(features) + channel / last)


def _distance(new: Tensor, old: Tensor) -> Tensor:
    return torch.linalg.vector_norm((new - old).flatten(1), dim=1).mean()


def _pool_channels(x: Tensor) -> Tensor:
    return F.avg_pool2d(x.transpose(1, 2), (3, 1), 1, (1, 0))


def run(side: Callable, student: nn.Module, data: tuple) -> None:
    """Take a step and forget its gradients."""
    side(student, *data).backward()
    student.zero_grad(set_to_none=True)


def compare(name: str, repeats: int) -> Iterator[Row]:
    leaf, images, size = NETWORKS[name]
    student, light = build(leaf, {}), build(leaf, LIGHT)
    data = batch(images, size, sum(student.channels))
    sides = {side: partial(run, side, student, data)
             for side in (networks, step, direct)}
    times = medians({**sides, 'light': partial(run, step, light, data)},
                    repeats)
    setting = f'{name}, {images} x {size}^2'
    for what, ours, aims in (('', times[step], (1.10, 0.67)),
                             (', light', times['light'], (None, 0.67))):
        for rival, text, aim in zip(
                (networks, direct), ('the networks alone', 'direct form'),
                aims, strict=True):
            yield Row(f'iteration of RCIL+spWC{what}', ours, times[rival],
                      text, aim, setting)


def measure(args: argparse.Namespace) -> Iterator[Row]:
    from mmseg_spwc.runtime.memory import keep_memory
    init_default_scope('mmseg')
    keep_memory()  # for all sides, as for a run
    for name in args.names:
        yield from compare(name, args.repeats)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('names', nargs='*', default=list(NETWORKS))
    parser.add_argument('--repeats', type=int, default=9)
    report(measure, parser)
