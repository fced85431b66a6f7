"""What the losses of a step may ask for, computed once and only on demand."""
import copy
import functools
import inspect

import torch
from mmseg.models.utils import resize
from torch import Tensor, nn


class LossInputs:
    """The quantities of one batch, by the names that losses ask for them.

    A loss names what it needs as the arguments of its ``forward``, as a test
    names its fixtures::

        class UnbiasedDistillationLoss(nn.Module):
            def forward(self, logits, old_logits): ...

    Every quantity is computed at most once, and not at all when no loss asks
    for it: without distillation there is no forward pass of the teacher.

    Args:
        student: The segmentor in training.
        inputs (Tensor): Images, (B, 3, H, W).
        labels (Tensor): Channels of the pixels, 255 ignored, (B, H, W).
    """

    def __init__(self, student, inputs: Tensor, labels: Tensor) -> None:
        self._student = student
        self._inputs = inputs
        self._outputs = student.tapped_forward(inputs)
        self._given = labels

    def call(self, loss: nn.Module):
        """Call a loss with the quantities its ``forward`` asks for."""
        return loss(**{n: getattr(self, n) for n in argument_names(loss)})

    def upsample(self, logits: Tensor) -> Tensor:
        return resize(
            logits,
            size=self._given.shape[1:],
            mode='bilinear',
            align_corners=self._student.align_corners)

    @functools.cached_property
    def logits(self) -> Tensor:
        """Logits at label size, (B, C, H, W)."""
        return self.upsample(self._outputs.logits)

    @property
    def features(self) -> list:
        """Maps of the stages, of the decoder, and the small logits."""
        return self._outputs.features

    @property
    def stages(self) -> list:
        """Maps of the backbone's (or neck's) stages."""
        return self._outputs.stages

    def with_logits(self, logits: Tensor) -> 'LossInputs':
        """The same batch seen through the logits of another head."""
        other = copy.copy(self)
        other.__dict__['logits'] = logits
        return other

    @property
    def num_new(self) -> int:
        """Channels that this step added."""
        return self._student.channels[-1]

    @property
    def num_old(self) -> int:
        """Channels of the previous model."""
        return sum(self._student.channels[:-1])

    @functools.cached_property
    def _teacher_outputs(self):
        teacher = self._student.teacher
        if teacher is None:
            raise RuntimeError(
                'A loss asks for the previous model, but there is none: at '
                'the first step use losses that do not distil.')
        with torch.no_grad():
            return teacher.tapped_forward(self._inputs)

    @functools.cached_property
    def old_logits(self) -> Tensor:
        """The previous model's logits at label size, (B, C_old, H, W)."""
        return self.upsample(self._teacher_outputs.logits)

    @property
    def old_features(self) -> list:
        """The previous model's counterpart of :attr:`features`."""
        return self._teacher_outputs.features

    @property
    def labels(self) -> Tensor:
        """Channels of the pixels, pseudo labels included, (B, H, W)."""
        return self._labels_and_factor[0]

    @functools.cached_property
    def pixel_weight(self) -> Tensor | None:
        """Weight of every pixel's loss, (B, H, W), or None for ones.

        The product of the unit's priority (spWC) and of the image's factor
        (adaptive pseudo labels).
        """
        factor = self._labels_and_factor[1]  # (B,)
        if factor is not None:
            factor = factor[:, None, None].expand(self._given.shape)
        table = self._student.priority_table
        if table is None:
            return factor
        weight = table.to(self._given.device)[self._units]
        return weight if factor is None else weight * factor

    @functools.cached_property
    def _units(self) -> Tensor:
        """The old class behind every background pixel, by the old model."""
        if self.num_new == 0:  # a new domain: every pixel has its label
            return self._given
        return self.old_logits.argmax(1).where(self._given < self.num_old,
                                               self._given)

    @functools.cached_property
    def _labels_and_factor(self) -> tuple:
        labeller = self._student.pseudo_label
        if labeller is None:
            return self._given, None
        return labeller(self.old_logits, self._given, self.num_old)


@functools.cache
def _names_of(cls: type) -> tuple:
    return tuple(inspect.signature(cls.forward).parameters)[1:]


def argument_names(loss: nn.Module) -> tuple:
    """Return what a loss asks for; raise if nobody provides it."""
    names = _names_of(type(loss))
    unknown = [n for n in names if not hasattr(LossInputs, n)]
    if unknown:
        known = sorted(n for n in vars(LossInputs) if not n.startswith('_'))
        raise TypeError(
            f'{type(loss).__name__}.forward asks for {unknown[0]!r}, which '
            f'no segmentor provides; known are {", ".join(known)}.')
    return names
