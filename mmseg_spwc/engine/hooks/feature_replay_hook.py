"""ALIFE-M: old classes are replayed as features, not as images."""
from pathlib import Path

import torch
from mmengine.hooks import Hook
from mmengine.logging import print_log
from torch import nn

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.models.feature_memory import FeatureMemory
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.utils.distributed import from_first_rank, unwrap
from mmseg_spwc.utils.files import write_tensors
from mmseg_spwc.utils.random_state import seeded

from ..replay_stages import (
    ClassifierStage,
    RotationStage,
    collect,
    rotate_memory,
    train_classifiers,
)
from .step_transition_hook import transition_of

FILE_NAME = 'feature_memory.pth'


@HOOKS.register_module()
class FeatureReplayHook(Hook):
    """Stages 2 and 3 of `ALIFE <https://arxiv.org/abs/2210.06816>`_-M.

    Stage 1 is the training of the step. When it ends::

        at a later step:
            memory = that of the step before
            learn one rotation an old class, rotate the memory    # stage 2
            train the classifiers alone, with the memory          # stage 3
        collect features of the new classes into the memory, and write it

    The network is in eval mode and everything but the classifiers of the
    decode head stays as it was trained. The memory is kept beside the step's
    checkpoint. A repetition after a crash starts from the same weights,
    memory and random numbers, and overwrites it with the same.

    Where the paper leaves a choice, this is our reading:

    - The background is not remembered: later classes hide in it.
    - One augmented crop of every image is looked at; N features are drawn
      from the means found there. A class of which no image shows enough is
      not remembered.
    - Features are centred by the mean over all positions of the step's
      images, one of the old and one of the new network, before cosines are
      taken; the new network's mean is the offset. Every image gives one
      representative of every old class.
    - Stage 3 uses SGD with momentum 0.9, weight decay 1e-4 and polynomial
      decay, and in every iteration the whole memory.

    With several processes each sees its share of the images, and gradients,
    means and collected features are put together.

    Args:
        memory_size (int): Features kept of every class. Defaults to 1000.
        min_region (float): Share of an image that a class must exceed to be
            averaged. Defaults to 0.005.
        rotation (dict, optional): ``lr`` (1e-2), ``epochs`` (10) and ``mix``
            (0.99), the share of the cosine in the loss, of stage 2.
        classifier (dict, optional): ``lr`` (1e-3), ``epochs`` (1), and the
            factors ``ali`` (1) and ``mem`` (1) of stage 3.
    """

    # before what measures or stores the weights of the finished step
    priority = 'ABOVE_NORMAL'
    trains_first_step = False  # it only collects when step 0 is done

    def __init__(self,
                 memory_size: int = 1000,
                 min_region: float = 0.005,
                 rotation: dict | None = None,
                 classifier: dict | None = None) -> None:
        if not 0 <= min_region < 1:
            raise ValueError('min_region is a share of the pixels, from 0 to '
                             f'below 1, got {min_region}.')
        self.memory_size = memory_size
        self.memory = FeatureMemory(memory_size)
        self.min_region = min_region
        self.rotation = RotationStage(**(rotation or {}))
        self.classifier = ClassifierStage(**(classifier or {}))

    def before_train(self, runner) -> None:
        """Find out before the training whether it can be finished."""
        step = transition_of(runner).step
        if unwrap(runner.model).channels[-1] == 0:
            raise ConfigError('Feature replay needs steps that add classes; '
                              f'step {step} of this scenario adds none.')
        if step > 0:
            self.memory = read_memory(_path_before(runner, step),
                                      self.memory_size)

    def after_train(self, runner) -> None:
        student = unwrap(runner.model)
        transition = transition_of(runner)
        training = student.training
        student.eval()
        with seeded(runner.seed or 0, transition.step):
            if transition.step > 0:
                transition.ensure_teacher(runner)
                self._replay(student, runner.train_dataloader)
            self._collect(student, runner.train_dataloader)
        student.train(training)
        from_first_rank(
            write_memory, self.memory, Path(runner.work_dir, FILE_NAME))

    def _replay(self, student: nn.Module, loader) -> None:
        self.memory.to(next(student.parameters()).device)
        loss = rotate_memory(student, loader, self.memory, self.rotation)
        print_log(f'Rotated the features of {len(self.memory.classes)} old '
                  f'classes, loss {loss:.4f}', 'current')
        loss = train_classifiers(student, loader, self.memory,
                                 self.classifier)
        print_log(f'Trained the classifiers, loss {loss:.4f}', 'current')

    def _collect(self, student: nn.Module, loader) -> None:
        self.memory.to(torch.device('cpu'))
        total = sum(student.channels)
        # channel 0 is the background
        new = range(max(total - student.channels[-1], 1), total)
        found = collect(student, loader, new, self.min_region)
        for label, features in found.items():
            if len(features):
                self.memory.add(label, features)
                continue
            print_log(
                f'No image shows more than {self.min_region:.2%} of class '
                f'{label}: it is not remembered.', 'current', level=30)


def read_memory(path: Path, size: int) -> FeatureMemory:
    """Read the memory of the step before, of ``size`` features a class."""
    if not path.exists():
        raise ConfigError(
            f'{path} is missing: features of old classes are collected when '
            'their step is trained. Train step 0 with this method instead of '
            'taking its weights from start_from.')
    memory = FeatureMemory.from_state_dict(
        torch.load(path, map_location='cpu', weights_only=True))
    if not memory.classes:
        raise ConfigError(
            f'{path} remembers no class: no image showed enough of one. '
            'Lower min_region and train from step 0.')
    if memory.size != size:
        raise ConfigError(
            f'{path} keeps {memory.size} features of every class, but '
            f'memory_size is {size}: it must not change within a run.')
    return memory


def write_memory(memory: FeatureMemory, path: Path) -> None:
    """Write the memory, whole or not at all."""
    write_tensors(path, memory.state_dict())


def _path_before(runner, step: int) -> Path:
    return Path(runner.work_dir).parent / f'step_{step - 1:02d}' / FILE_NAME
