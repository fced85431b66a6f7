"""ALIFE-M: old classes are replayed as features, not as images."""
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from mmengine.dist import all_gather_object, all_reduce
from mmengine.hooks import Hook
from mmengine.logging import print_log
from torch import Tensor, nn
from torch.utils.data import DataLoader

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.models.feature_replay import (
    FeatureMemory,
    MemoryRotation,
    classify,
    region_means,
    replay_loss,
)
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.utils.distributed import from_first_rank, unwrap
from mmseg_spwc.utils.files import write_tensors

from ..context import StepContext, context_of
from ..side_training import (
    decoder_map,
    minimise,
    one_epoch,
    prepared,
    standing_still,
)
from ..step_data import once_through

FILE_NAME = 'feature_memory.pth'


@dataclass(frozen=True)
class RotationOptions:
    """Settings of stage 2: Adam's rate, epochs and the loss's mix."""
    lr: float = 1e-2
    epochs: int = 10
    mix: float = 0.99

    def __post_init__(self) -> None:
        if not 0 <= self.mix <= 1:
            raise ValueError(f'rotation.mix is a share from 0 to 1, got '
                             f'{self.mix}.')


@dataclass(frozen=True)
class ClassifierOptions:
    """Settings of stage 3: SGD's rate, epochs and the losses' factors."""
    lr: float = 1e-3
    epochs: int = 1
    ali: float = 1.
    mem: float = 1.

    def __post_init__(self) -> None:
        for name in ('ali', 'mem'):
            if getattr(self, name) < 0:
                raise ValueError(f'classifier.{name} is a factor of a loss '
                                 'and must not be negative, got '
                                 f'{getattr(self, name)}.')


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
    needs_teacher = True

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
        self.rotation = RotationOptions(**(rotation or {}))
        self.classifier = ClassifierOptions(**(classifier or {}))

    def before_train(self, runner) -> None:
        """Find out before the training whether it can be finished."""
        context = context_of(runner)
        step = context.step
        if unwrap(runner.model).channels[-1] == 0:
            raise ConfigError('Feature replay needs steps that add classes; '
                              f'step {step} of this scenario adds none.')
        if step > 0:
            self.memory = read_memory(_path_before(context),
                                      self.memory_size)

    def after_train(self, runner) -> None:
        context = context_of(runner)
        step = context.step
        if step > 0 and context.entry.get('start_from'):
            raise ConfigError(
                'Features of old classes are carried on while a step is '
                f'trained, so step {step} cannot be taken from start_from: '
                'start from a step 0.')
        with standing_still(runner) as student:
            if step > 0:
                self._replay(student, runner.train_dataloader)
            self._collect(student, runner.train_dataloader)
        from_first_rank(write_tensors, Path(runner.work_dir, FILE_NAME),
                        self.memory.state_dict())

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


def _path_before(context: StepContext) -> Path:
    return context.work_dir / f'step_{context.step - 1:02d}' / FILE_NAME


def collect(student: nn.Module, loader: DataLoader, classes: Sequence[int],
            min_region: float) -> dict[int, Tensor]:
    """Averaged features (M, D) of classes in all of a step's images.

    They are the same on every rank; see
    :func:`~mmseg_spwc.models.feature_replay.region_means`.
    """
    found = {c: [] for c in classes}
    for inputs, labels in prepared(student, once_through(loader)):
        means = region_means(
            decoder_map(student, inputs), labels, classes, min_region)
        for label, features in means.items():
            found[label].append(features.cpu())
    everyone = all_gather_object(found)
    return {
        c: torch.cat([f for rank in everyone for f in rank[c]])
        for c in classes
    }


def rotate_memory(student: nn.Module, loader: DataLoader,
                  memory: FeatureMemory, options: RotationOptions) -> float:
    """Stage 2: carry the memory over into the new network's features.

    Returns the mean loss of the last epoch. The student, in eval mode, has
    its teacher.
    """
    rotation = MemoryRotation(
        memory, *_centres(student, loader),
        student.decode_head.conv_seg.to_conv(), options.mix)

    def loss_of(inputs: Tensor, labels: Tensor) -> Tensor:
        return rotation(
            decoder_map(student.teacher, inputs), decoder_map(student, inputs))

    optimizer = torch.optim.Adam(rotation.rotations.parameters(), options.lr)
    loss = minimise(student, loader, loss_of, optimizer, options.epochs)
    memory.replace(rotation.carried())
    return loss


def train_classifiers(student: nn.Module, loader: DataLoader,
                      memory: FeatureMemory,
                      options: ClassifierOptions) -> float:
    """Stage 3: train the pixel classifiers alone, with the memory's help.

    Returns the mean loss of the last epoch.
    """
    classifier = student.decode_head.conv_seg
    kept, kept_labels = memory.labelled()

    def loss_of(inputs: Tensor, labels: Tensor) -> Tensor:
        logits = classifier(decoder_map(student, inputs))
        with torch.no_grad():
            old_logits = student.teacher.tapped_forward(
                inputs).features.logits
        logits, old_logits = (
            student.upsample(x, labels.shape[1:])
            for x in (logits, old_logits))
        return replay_loss(
            logits, old_logits, labels, classify(classifier, kept[None])[0],
            kept_labels, options.ali, options.mem)

    optimizer = torch.optim.SGD(
        classifier.parameters(), options.lr, momentum=0.9, weight_decay=1e-4)
    return minimise(student, loader, loss_of, optimizer, options.epochs)


def _centres(student: nn.Module, loader: DataLoader) -> Tensor:
    """Mean of the old and of the new network's decoder maps, (2, D)."""
    total, count = 0., 0.
    for inputs, _ in one_epoch(student, loader, 0):
        maps = torch.stack([
            decoder_map(model, inputs) for model in (student.teacher, student)
        ])  # (2, B, D, h, w)
        total = total + maps.sum(dim=(1, 3, 4))
        count = count + maps[0, :, 0].numel()
    mean = total / count
    # ranks see equally many images
    all_reduce(mean, 'mean')
    return mean
