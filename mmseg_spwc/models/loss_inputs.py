"""What the losses of a segmentor may ask for."""
import copy
import functools

import torch
from torch import Tensor

from .loss_requests import LossRequests


class LossInputs(LossRequests):
    """The quantities of one batch of a segmentor.

    Args:
        student: The segmentor in training.
        inputs (Tensor): Images, (B, 3, H, W).
        labels (Tensor): Channels of the pixels, 255 ignored, (B, H, W).
    """

    provider = 'segmentor'

    def __init__(self, student, inputs: Tensor, labels: Tensor) -> None:
        super().__init__(student)
        self._inputs = inputs
        self._outputs = student.tapped_forward(inputs)
        self._given = labels

    def upsample(self, logits: Tensor) -> Tensor:
        return self._student.upsample(logits, self._given.shape[1:])

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

    @functools.cached_property
    def _teacher_outputs(self):
        with torch.no_grad():
            return self._teacher.tapped_forward(self._inputs)

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
