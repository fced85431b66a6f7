"""The stages of ALIFE-M that follow the training of a step."""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from mmengine.dist import all_gather_object, all_reduce
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import PolynomialLR
from torch.utils.data import DataLoader

from mmseg_spwc.models.feature_memory import FeatureMemory, region_means
from mmseg_spwc.models.feature_replay import (
    MemoryRotation,
    classify,
    replay_loss,
)
from mmseg_spwc.models.segmentors.continual_encoder_decoder import labels_of

from .step_data import once_through


@dataclass(frozen=True)
class RotationStage:
    """Settings of stage 2: Adam's rate, epochs and the loss's mix."""
    lr: float = 1e-2
    epochs: int = 10
    mix: float = 0.99

    def __post_init__(self) -> None:
        if not 0 <= self.mix <= 1:
            raise ValueError(f'rotation.mix is a share from 0 to 1, got '
                             f'{self.mix}.')


@dataclass(frozen=True)
class ClassifierStage:
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


def collect(student: nn.Module, loader: DataLoader, classes: Sequence[int],
            min_region: float) -> dict[int, Tensor]:
    """Averaged features of classes in all of a step's images.

    Args:
        student (nn.Module): The segmentor, in eval mode.
        loader (DataLoader): The step's training loader.
        classes (Sequence[int]): Channels to look for.
        min_region (float): See
            :func:`~mmseg_spwc.models.feature_memory.region_means`.

    Returns:
        dict: By class (M, D), the same on every rank.
    """
    found = {c: [] for c in classes}
    for inputs, labels in _prepared(student, once_through(loader)):
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
                  memory: FeatureMemory, stage: RotationStage) -> float:
    """Stage 2: carry the memory over into the new network's features.

    Args:
        student (nn.Module): The segmentor with its teacher, in eval mode.
        loader (DataLoader): The step's training loader.
        memory (FeatureMemory): Features of old classes; changed in place.
        stage (RotationStage): The settings.

    Returns:
        float: Mean loss of the last epoch.
    """
    rotation = MemoryRotation(
        memory, *_centres(student, loader),
        student.decode_head.conv_seg.to_conv(), stage.mix)

    def loss_of(inputs: Tensor, labels: Tensor) -> Tensor:
        return rotation(
            decoder_map(student.teacher, inputs), decoder_map(student, inputs))

    optimizer = torch.optim.Adam(rotation.rotations.parameters(), stage.lr)
    loss = _minimise(student, loader, loss_of, optimizer, stage.epochs)
    memory.replace(rotation.carried())
    return loss


def train_classifiers(student: nn.Module, loader: DataLoader,
                      memory: FeatureMemory,
                      stage: ClassifierStage) -> float:
    """Stage 3: train the pixel classifiers alone, with the memory's help.

    Args:
        student (nn.Module): The segmentor with its teacher, in eval mode.
        loader (DataLoader): The step's training loader.
        memory (FeatureMemory): Rotated features of old classes.
        stage (ClassifierStage): The settings.

    Returns:
        float: Mean loss of the last epoch.
    """
    classifier = student.decode_head.conv_seg
    kept, kept_labels = memory.labelled()

    def loss_of(inputs: Tensor, labels: Tensor) -> Tensor:
        logits = classifier(decoder_map(student, inputs))
        with torch.no_grad():
            old_logits = student.teacher.tapped_forward(inputs).logits
        logits, old_logits = (
            student.upsample(x, labels.shape[1:])
            for x in (logits, old_logits))
        return replay_loss(
            logits, old_logits, labels, classify(classifier, kept[None])[0],
            kept_labels, stage.ali, stage.mem)

    optimizer = torch.optim.SGD(
        classifier.parameters(), stage.lr, momentum=0.9, weight_decay=1e-4)
    return _minimise(student, loader, loss_of, optimizer, stage.epochs)


@torch.no_grad()
def decoder_map(model: nn.Module, inputs: Tensor) -> Tensor:
    """The map that the classifier reads, (B, D, h, w), as a constant."""
    return model.tapped_forward(inputs).features[-2]


def _minimise(student: nn.Module, loader: DataLoader, loss_of,
              optimizer: Optimizer, epochs: int) -> float:
    """Run epochs with a polynomial decay; return the last one's loss.

    Every rank sees its own share of the images; gradients are averaged.
    """
    schedule = PolynomialLR(optimizer, max(epochs * len(loader), 1), 0.9)
    params = [p for g in optimizer.param_groups for p in g['params']]
    losses = [0.]
    for epoch in range(epochs):
        losses = []
        for inputs, labels in _epoch(student, loader, epoch):
            optimizer.zero_grad()
            loss = loss_of(inputs, labels)
            loss.backward()
            for param in params:
                all_reduce(param.grad, 'mean')
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
    optimizer.zero_grad()
    return sum(losses) / max(len(losses), 1)


def _epoch(student: nn.Module, loader: DataLoader, epoch: int) -> Iterator:
    """One epoch of the training loader, whose sampler may be endless."""
    loader.sampler.set_epoch(epoch)
    batches = (b for b, _ in zip(loader, range(len(loader)), strict=False))
    return _prepared(student, batches)


def _prepared(student: nn.Module, batches) -> Iterator:
    """Images (B, 3, H, W) and labels (B, H, W) of batches."""
    for batch in batches:
        batch = student.data_preprocessor(batch, training=True)
        yield batch['inputs'], labels_of(batch['data_samples'])


def _centres(student: nn.Module, loader: DataLoader) -> Tensor:
    """Mean of the old and of the new network's decoder maps, (2, D)."""
    total, count = 0., 0.
    for inputs, _ in _epoch(student, loader, 0):
        maps = torch.stack([
            decoder_map(model, inputs) for model in (student.teacher, student)
        ])  # (2, B, D, h, w)
        total = total + maps.sum(dim=(1, 3, 4))
        count = count + maps[0, :, 0].numel()
    mean = total / count
    # ranks see equally many images
    all_reduce(mean, 'mean')
    return mean
