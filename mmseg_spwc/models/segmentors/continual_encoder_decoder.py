"""Any mmseg ``EncoderDecoder`` as the student of a sequence."""
from collections.abc import Sequence
from typing import NamedTuple

import torch
from mmseg.models import EncoderDecoder
from torch import Tensor, nn
from torch.nn import functional

from mmseg_spwc.registry import MODELS

from ..growing_classifier import grow_head
from ..loss_inputs import LossInputs, argument_names


class TappedOutputs(NamedTuple):
    """Small logits (B, C, h, w) and the maps on the way to them."""
    logits: Tensor
    features: list


@MODELS.register_module()
class ContinualEncoderDecoder(EncoderDecoder):
    """A segmentor with a classifier that grows and a frozen teacher.

    Backbone, neck and heads are those of an ordinary mmseg config. Every
    head's 1x1 classifier becomes one 1x1 convolution a step. The losses are
    named parts of the config; each asks for what it needs (see
    :class:`~mmseg_spwc.models.loss_inputs.LossInputs`).

    The teacher is the model of the step before. It is a plain attribute:
    outside ``state_dict`` and the optimiser, always in eval mode, and moved
    together with the student.

    Args:
        channels (Sequence[int]): Output channels of each step so far.
        losses (dict): Loss configs by name. The one named ``pixel`` also
            trains the auxiliary heads, times their own ``loss_weight``.
        **kwargs: Those of mmseg's ``EncoderDecoder``.
    """

    def __init__(self, *args, channels: Sequence[int], losses: dict,
                 **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.channels = tuple(channels)
        for head in self.heads():
            grow_head(head, self.channels)
        self.losses = nn.ModuleDict({
            name: MODELS.build(config)
            for name, config in losses.items() if config is not None
        })
        self.__dict__['teacher'] = None

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
        """Whether a loss asks for the previous model's outputs."""
        return any(
            name.startswith('old_') for loss in self.losses.values()
            for name in argument_names(loss))

    def is_new(self, key: str) -> bool:
        """Whether a ``state_dict`` key belongs to this step's channels."""
        new = f'.conv_seg.convs.{len(self.heads()[0].conv_seg.convs) - 1}.'
        return self.channels[-1] > 0 and new in key

    def set_teacher(self, teacher: 'ContinualEncoderDecoder') -> None:
        """Take a copy of the previous model as the frozen teacher."""
        teacher.eval().requires_grad_(False)
        self.__dict__['teacher'] = teacher

    def _apply(self, fn, *args, **kwargs):
        if self.teacher is not None:
            self.teacher._apply(fn, *args, **kwargs)
        return super()._apply(fn, *args, **kwargs)

    def tapped_forward(self, inputs: Tensor) -> TappedOutputs:
        """Run the network once and keep the maps that losses compare."""
        stages = self.extract_feat(inputs)
        decoded = []
        handle = self.decode_head.conv_seg.register_forward_pre_hook(
            lambda _, arguments: decoded.append(arguments[0]))
        try:
            logits = self.decode_head.forward(stages)
        finally:
            handle.remove()
        return TappedOutputs(logits, [*stages, *decoded, logits])

    def loss(self, inputs: Tensor, data_samples: Sequence) -> dict:
        """Compute every loss of the step, and the pixel accuracy."""
        labels = torch.stack(
            [s.gt_sem_seg.data.squeeze(0) for s in data_samples])
        batch = LossInputs(self, inputs, labels)
        values = {}
        for name, loss in self.losses.items():
            value = batch.call(loss)
            values.update(value if isinstance(value, dict) else
                          {f'loss_{name}': value})
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
