"""Any mmseg ``EncoderDecoder`` as the student of a sequence."""
import re
from collections.abc import Sequence
from typing import NamedTuple

import torch
from mmseg.models import EncoderDecoder
from torch import Tensor, nn
from torch.nn import functional

from mmseg_spwc.registry import MODELS

from ..growing_classifier import grow_head
from ..loss_inputs import LossInputs, argument_names
from ..pseudo_labeller import PseudoLabeller
from ..rc import (
    add_branches,
    export_branches,
    is_branched,
    merge_branches,
)
from ..taps import tap_stages


class TappedOutputs(NamedTuple):
    """Small logits (B, C, h, w) and the maps on the way to them."""
    logits: Tensor
    features: list  # what losses compare
    stages: Sequence[Tensor]  # what heads read


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

    def __init__(self,
                 *args,
                 channels: Sequence[int],
                 losses: dict,
                 rc: dict | None = None,
                 pseudo_label: dict | None = None,
                 pre_activation: bool = False,
                 frozen_norm: str | None = None,
                 **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.rc = rc
        self.pre_activation = pre_activation
        self.pseudo_label = None if pseudo_label is None else \
            PseudoLabeller(**pseudo_label)
        self.priority_table: Tensor | None = None
        self.channels = tuple(channels)
        for head in self.heads():
            grow_head(head, self.channels)
        self.losses = nn.ModuleDict({
            name: MODELS.build(config)
            for name, config in losses.items() if config is not None
        })
        self.__dict__['teacher'] = None
        if rc is not None:
            add_branches(self, **dict(rc, init='merged'))
        self.frozen_norms = [] if frozen_norm is None else [
            name for name, module in self.named_modules()
            if isinstance(module, nn.modules.batchnorm._BatchNorm)
            and re.search(frozen_norm, name)
        ]
        for name in self.frozen_norms:
            self.get_submodule(name).requires_grad_(False)

    def train(self, mode: bool = True) -> 'ContinualEncoderDecoder':
        """Set the mode, but never for frozen norms."""
        super().train(mode)
        for name in self.frozen_norms:
            self.get_submodule(name).eval()
        return self

    def carried_branches(self) -> dict | None:
        """The trained branches, if the next step shall go on with them."""
        carries = self.rc is not None and self.rc.get('init') == 'carry'
        if carries and is_branched(self):
            return export_branches(self)
        return None

    def to_plain(self) -> None:
        """Fold doubled convolutions: what remains is the plain network."""
        merge_branches(self)

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
        return self.pseudo_label is not None or any(
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
