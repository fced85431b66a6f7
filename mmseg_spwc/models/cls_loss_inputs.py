"""What the losses of an image classifier may ask for."""
import functools

import torch
from torch import Tensor

from .loss_requests import LossRequests


class ClsLossInputs(LossRequests):
    """The quantities of one batch of a classifier.

    Args:
        student: The classifier in training.
        inputs (Tensor): Images, (B, ...).
        labels (Tensor): Channels of the images, (B,).
        mask (Tensor, optional): Channels that compete for an image, (B, C),
            bool; None for all. Defaults to None.
    """

    provider = 'classifier'

    def __init__(self,
                 student,
                 inputs: Tensor,
                 labels: Tensor,
                 mask: Tensor | None = None) -> None:
        super().__init__(student)
        self._inputs = inputs
        self._labels = labels
        self._mask = mask

    @functools.cached_property
    def features(self) -> Tensor:
        """What the last layer reads, (B, D)."""
        return self._student.pre_logits(self._inputs)

    @functools.cached_property
    def logits(self) -> Tensor:
        """Logits of all heads, (B, C)."""
        return self._student.classifier.fused(self.features)

    @property
    def labels(self) -> Tensor:
        """Channels of the images, counted over all heads, (B,)."""
        return self._labels

    @property
    def mask(self) -> Tensor | None:
        """Channels that compete for an image, (B, C), or None for all."""
        return self._mask

    @functools.cached_property
    def old_logits(self) -> Tensor:
        """The previous model's logits of its heads, (B, C_old)."""
        with torch.no_grad():
            features = self._teacher.pre_logits(self._inputs)
            return self._teacher.classifier.fused(features)

    @property
    def old_heads(self) -> list:
        """First channel and size of each of the previous model's heads."""
        if self._student.per_task:
            return self._student.heads[:-1]
        return [(0, self.num_old)]

    @property
    def num_old_tasks(self) -> int:
        """Tasks before this step's."""
        return len(self._student.channels) - 1
