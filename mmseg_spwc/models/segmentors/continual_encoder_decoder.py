"""Any mmseg ``EncoderDecoder`` as the student of a sequence."""
from collections.abc import Sequence
from typing import NamedTuple

import torch
from mmseg.models import EncoderDecoder
from mmseg.models.utils import resize
from torch import Tensor, nn
from torch.nn import functional

from mmseg_spwc.registry import MODELS

from ..growing_classifier import grow_head
from ..loss_inputs import LossInputs
from ..pseudo_labeller import PseudoLabeller
from ..student import IGNORED, Student
from ..taps import tap_stages


class TappedOutputs(NamedTuple):
    """Small logits (B, C, h, w) and the maps on the way to them."""
    logits: Tensor
    features: list  # what losses compare
    stages: Sequence[Tensor]  # what heads read


@MODELS.register_module()
class ContinualEncoderDecoder(Student, EncoderDecoder):
    """A segmentor with a classifier that grows and a frozen teacher.

    Backbone, neck and heads are those of an ordinary mmseg config. Every
    head's 1x1 classifier becomes one 1x1 convolution a step. The losses are
    named parts of the config; each asks for what it needs (see
    :class:`~mmseg_spwc.models.loss_inputs.LossInputs`).

    For the teacher see :class:`~mmseg_spwc.models.student.Student`.

    Args:
        channels (Sequence[int]): Output channels of each step so far.
        losses (dict): Loss configs by name. The one named ``pixel`` also
            trains the auxiliary heads, times their own ``loss_weight``.
        rc (dict, optional): Arguments of
            :func:`~mmseg_spwc.models.rc.add_branches` for representation
            compensation. Defaults to None.
        pseudo_label (dict, optional): Arguments of
            :class:`~mmseg_spwc.models.pseudo_labeller.PseudoLabeller`.
            Defaults to None.
        pre_activation (bool): Compare the stages' maps before their last
            activation, as PLOP does. Defaults to False.
        frozen_norm (str, optional): Batch norms whose name this regular
            expression is found in keep their statistics and parameters.
            Defaults to None.
        **kwargs: Those of mmseg's ``EncoderDecoder``.
    """

    loss_inputs = LossInputs
    priority_unit = 'class'  # of the weights that spWC sets

    def __init__(self,
                 *args,
                 pseudo_label: dict | None = None,
                 pre_activation: bool = False,
                 **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.pre_activation = pre_activation
        self.pseudo_label = None if pseudo_label is None else \
            PseudoLabeller(**pseudo_label)
        self.priority_table: Tensor | None = None

    def set_priorities(self, v: Sequence[float]) -> None:
        """Weight the pixels of every old class; new ones keep weight 1.

        Args:
            v (Sequence[float]): Weights of the first channels.
        """
        table = torch.ones(256)  # by channel, and 255
        table[:len(v)] = torch.tensor(v)
        self.priority_table = table

    def grow(self) -> None:
        """Give every head one classifier for each step."""
        for head in self.heads():
            grow_head(head, self.channels)

    def initialise_new(self, policy: str) -> None:
        """See :meth:`GrowingClassifier.initialise_new`."""
        for head in self.heads():
            head.conv_seg.initialise_new(policy)

    def heads(self) -> list:
        """The decode head, then the auxiliary heads."""
        auxiliary = getattr(self, 'auxiliary_head', None)
        if auxiliary is None:
            return [self.decode_head]
        if isinstance(auxiliary, nn.ModuleList):
            return [self.decode_head, *auxiliary]
        return [self.decode_head, auxiliary]

    @property
    def needs_teacher(self) -> bool:
        """Whether a loss or pseudo labels ask for the previous model."""
        return self.pseudo_label is not None or super().needs_teacher

    def is_new(self, key: str) -> bool:
        """Whether a ``state_dict`` key belongs to this step's channels."""
        new = f'.conv_seg.convs.{len(self.heads()[0].conv_seg.convs) - 1}.'
        return self.channels[-1] > 0 and new in key

    def active_labels(self, samples: Sequence) -> Tensor:
        """Channels of the pixels, (B, H, W)."""
        labels = labels_of(samples).long()
        return labels.masked_fill(labels == 255, IGNORED)

    def tapped_forward(self, inputs: Tensor) -> TappedOutputs:
        """Run the network once and keep the maps that losses compare."""
        with tap_stages(self.backbone, self.pre_activation) as taps:
            stages = self.extract_feat(inputs)
        decoded = []
        handle = self.decode_head.conv_seg.register_forward_pre_hook(
            lambda _, arguments: decoded.append(arguments[0]))
        try:
            logits = self.decode_head.forward(stages)
        finally:
            handle.remove()
        features = [*taps.features, *decoded, logits]
        return TappedOutputs(logits, features, stages)

    def upsample(self, logits: Tensor, size: Sequence[int]) -> Tensor:
        """Enlarge logits (B, C, h, w) to a size (H, W)."""
        return resize(
            logits,
            size=tuple(size),
            mode='bilinear',
            align_corners=self.align_corners)

    def loss(self, inputs: Tensor, data_samples: Sequence) -> dict:
        """Compute every loss of the step, and the pixel accuracy."""
        labels = labels_of(data_samples)
        batch = LossInputs(self, inputs, labels)
        values = self.named_losses(batch)
        values.update(self._auxiliary_losses(batch))
        values['acc_seg'] = pixel_accuracy(batch.features[-1], labels)
        return values

    def _auxiliary_losses(self, batch: LossInputs) -> dict:
        values = {}
        for i, head in enumerate(self.heads()[1:]):
            logits = batch.upsample(head.forward(batch.stages))
            values[f'loss_aux_{i}'] = head.loss_decode.loss_weight * \
                batch.with_logits(logits).call(self.losses['pixel'])
        return values


def labels_of(samples: Sequence) -> Tensor:
    """Channels of the pixels, (B, H, W)."""
    return torch.cat([sample.gt_sem_seg.data for sample in samples])


def pixel_accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    """Percent of hits at the small logits' own size.

    An arg-max at label size would cost as much as a stage of a small
    network, every iteration, for a number that is only logged.
    """
    labels = functional.interpolate(
        labels[:, None].float(), logits.shape[2:])[:, 0]  # nearest
    counted = labels != 255
    hits = (logits.argmax(1) == labels) & counted
    return 100 * hits.sum() / counted.sum().clamp(min=1)
