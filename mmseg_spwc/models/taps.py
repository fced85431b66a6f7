"""Reading the maps of a segmentor while it runs."""
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from mmseg.models.backbones import ResNet
from torch import Tensor, nn

from .quantities import Maps


@dataclass
class StageTaps:
    """A map for every stage of ``out_indices``."""
    features: tuple[Tensor, ...] = ()


@contextmanager
def tap_stages(backbone: nn.Module,
               pre_activation: bool = True) -> Iterator[StageTaps]:
    """Read the stage outputs of a backbone while it runs.

    The backbone returns what it always returns; the taps cost no second
    forward pass, carry gradients, and leave no trace once the block ends::

        with tap_stages(backbone) as taps:
            backbone(images)
        maps = taps.features

    With ``pre_activation`` (PLOP; RCIL reads after it) the residual sum of
    each stage's last block is read of the mmseg ResNet family; other
    backbones have no such point in common, so their outputs are read.
    """
    taps = StageTaps()
    if pre_activation and isinstance(backbone, ResNet):
        handles = _tap_residual_sums(backbone, taps)
    else:
        handles = [backbone.register_forward_hook(_store_outputs(taps))]
    try:
        yield taps
    finally:
        for handle in handles:
            handle.remove()


def _store_outputs(taps: StageTaps):

    def hook(module: nn.Module, inputs: tuple, output) -> None:
        is_single = isinstance(output, Tensor)
        taps.features = (output, ) if is_single else tuple(output)

    return hook


def _tap_residual_sums(backbone: ResNet, taps: StageTaps) -> list:
    latest = {}

    def keep_input(stage: int):

        def hook(relu: nn.Module, inputs: tuple) -> tuple:
            # a block calls its activation several times; the last call sees
            # the residual sum, which the in-place activation would overwrite
            latest[stage] = inputs[0]
            return (inputs[0].clone(), )

        return hook

    def collect(module: nn.Module, inputs: tuple, output) -> None:
        # taken here, since checkpointed blocks run again during backward
        taps.features = tuple(latest[i] for i in backbone.out_indices)

    handles = [backbone.register_forward_hook(collect)]
    for stage in backbone.out_indices:
        last_block = getattr(backbone, backbone.res_layers[stage])[-1]
        handles.append(
            last_block.relu.register_forward_pre_hook(keep_input(stage)))
    return handles


class TappedOutputs(NamedTuple):
    """The maps that losses compare, and the stages as the heads read them."""
    features: Maps
    stages: Sequence[Tensor]


def tapped_pass(model: nn.Module, inputs: Tensor, pre_activation: bool = False,
                channels_last: bool = False) -> TappedOutputs:
    """Run an ``EncoderDecoder`` once and keep the maps that losses compare.

    They are in the precision of the inputs, whatever that of the network.
    """
    own = next(model.parameters()).dtype
    images = inputs.to(own)
    if channels_last:
        images = images.contiguous(memory_format=torch.channels_last)
    with tap_stages(model.backbone, pre_activation) as taps:
        stages = model.extract_feat(images)
    decoded = []
    handle = model.decode_head.conv_seg.register_forward_pre_hook(
        lambda _, arguments: decoded.append(arguments[0]))
    try:
        logits = model.decode_head.forward(stages)
    finally:
        handle.remove()
    features = Maps((*taps.features, *decoded, logits))
    if own != inputs.dtype:
        features = Maps(x.to(inputs.dtype) for x in features)
    return TappedOutputs(features, stages)


@dataclass
class OldPass:
    """What the previous model sees in a batch, as far as it is needed."""
    features: Maps | None = None
    logits: Tensor | None = None  # at label size, (B, C_old, H, W)

    @cached_property
    def classes(self) -> Tensor:
        """The class of every pixel, (B, H, W)."""
        return predicted(self.logits)


def predicted(logits: Tensor) -> Tensor:
    """Channel (B, H, W) of each pixel's largest logit, the first of equals.

    On a CPU this takes a tenth of the time of ``argmax``, which does not
    look at many pixels at once.
    """
    last = logits.shape[1] - 1
    # counted backwards, the first of equals is the largest
    places = torch.arange(
        last, -1, -1, device=logits.device,
        dtype=torch.uint8 if last < 256 else torch.int32).view(-1, 1, 1)
    largest = logits == logits.amax(dim=1, keepdim=True)
    return last - (largest * places).amax(dim=1).long()
