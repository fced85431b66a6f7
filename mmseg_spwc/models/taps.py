"""Reading a backbone's stage outputs before their last activation."""
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

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
