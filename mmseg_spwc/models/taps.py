"""Reading the maps of a segmentor while it runs."""
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import torch
from mmseg.models.backbones import ResNet
from torch import Tensor, nn


@dataclass
class StageTaps:
    """What :func:`tap_stages` read during the last forward pass.

    Attributes:
        features: One map (B, C_l, H_l, W_l) per stage in ``out_indices``;
            empty until the backbone has run.
    """

    features: tuple[Tensor, ...] = ()


@contextmanager
def tap_stages(backbone: nn.Module,
               pre_activation: bool = True) -> Iterator[StageTaps]:
    """Read the stage outputs of a backbone while it runs.

    The backbone returns what it always returns; the taps cost no second
    forward pass, carry gradients, and leave no trace once the block ends::

        with tap_stages(backbone) as taps:
            feats = backbone(images)
        loss = local_pod(taps.features, ...)

    Args:
        backbone: Any backbone. Of the mmseg ResNet family the residual sum
            of each stage's last block is read; another backbone has no such
            point in common, so its ordinary outputs are read.
        pre_activation: Whether to read before the last activation (PLOP) or
            after it (RCIL).

    Yields:
        The taps, filled by the forward pass.
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
    """Small logits (B, C, h, w) and the maps on the way to them."""
    logits: Tensor
    features: list  # what losses compare
    stages: Sequence[Tensor]  # what heads read


def tapped_pass(model: nn.Module,
                inputs: Tensor,
                pre_activation: bool = False,
                channels_last: bool = False) -> TappedOutputs:
    """Run a segmentor once and keep the maps that losses compare.

    Args:
        model (nn.Module): An ``EncoderDecoder``; its decode head has a
            ``conv_seg``.
        inputs (Tensor): Images, (B, 3, H, W).
        pre_activation (bool): See :func:`tap_stages`. Defaults to False.
        channels_last (bool): Hand the images over with channels last in
            memory. Defaults to False.

    Returns:
        TappedOutputs: The maps, in the precision of the inputs, whatever
        that of the network.
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
    features = [*taps.features, *decoded, logits]
    if own != inputs.dtype:
        features = [x.to(inputs.dtype) for x in features]
    return TappedOutputs(features[-1], features, stages)
