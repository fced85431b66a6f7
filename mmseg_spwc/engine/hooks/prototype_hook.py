"""What every class looks like to the network that learnt it."""
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from mmengine.hooks import Hook
from mmengine.logging import print_log
from torch import Tensor, nn
from torch.utils.data import DataLoader

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.models.losses.class_similarity import class_sums
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.runtime.agreement import check_agreement
from mmseg_spwc.utils.distributed import from_first_rank, unwrap
from mmseg_spwc.utils.files import write_tensors

from ..context import context_of
from ..side_training import standing_still, summed

FILE_NAME = 'prototypes.pth'
MAPS = dict(decoder=lambda maps: maps.decoder,
            backbone=lambda maps: maps.stages[-1])


@HOOKS.register_module()
class PrototypeHook(Hook):
    """Keeps the mean of a map over the pixels of every class.

    When a step has been trained, its new classes, at step 0 with the
    background, are measured in one augmented pass over its images and
    written beside its checkpoint, with those of the old classes as they were.
    Losses with ``set_prototypes`` get those of the old classes.

    The mean is over all pixels of all processes; the code of REMINDER takes
    the mean of batches' means in each.

    Args:
        maps (str): ``'decoder'``, what the classifier reads, or
            ``'backbone'``, its last map. Defaults to 'decoder'.
    """

    # before what measures or stores the weights of the finished step
    priority = 'ABOVE_NORMAL'
    trains_first_step = False

    def __init__(self, maps: str = 'decoder') -> None:
        if maps not in MAPS:
            raise ValueError("prototypes.maps is 'decoder' or 'backbone', "
                             f'not {maps!r}.')
        self.read = MAPS[maps]
        self.prototypes: Tensor | None = None

    def before_train(self, runner) -> None:
        context = context_of(runner)
        if context.step == 0:
            return
        path = context.work_dir / f'step_{context.step - 1:02d}' / FILE_NAME
        if not path.exists():
            raise ConfigError(
                f'{path} is missing: prototypes are measured when a step '
                'ends. Put hooks.prototypes into method.every, and train '
                'step 0 in this run or take it from start_from.')
        self.prototypes = torch.load(
            path, map_location='cpu', weights_only=True)['prototypes']
        for loss in unwrap(runner.model).losses.values():
            if hasattr(loss, 'set_prototypes'):
                loss.set_prototypes(self.prototypes)

    def after_train(self, runner) -> None:
        with standing_still(runner) as student:
            means = measure_prototypes(
                student, runner.train_dataloader, self.read)
        old = means[:0] if self.prototypes is None else self.prototypes
        prototypes = torch.cat([old, means])
        check_agreement('about the prototypes of classes',
                        prototypes=dict(all=prototypes))
        from_first_rank(write_tensors, Path(runner.work_dir, FILE_NAME),
                        dict(prototypes=prototypes))


def measure_prototypes(student: nn.Module, loader: DataLoader,
                       read: Callable) -> Tensor:
    """Mean maps (K, D) of the classes of this step, on the CPU."""
    classes = list(range(student.num_old, student.num_old + student.num_new))

    def sums_of(inputs: Tensor, labels: Tensor) -> Iterable[Tensor]:
        maps = read(student.tapped_forward(inputs).features).float()
        return (x.double() for x in class_sums(maps, labels, classes))

    total, count = summed(student, loader, sums_of)
    for label, pixels in zip(classes, count.tolist(), strict=True):
        if not pixels:
            print_log(f'No image of the step shows class {label}: its '
                      'prototype is 0.', 'current', level=30)
    return (total / count.clamp(min=1)[:, None]).float().cpu()
