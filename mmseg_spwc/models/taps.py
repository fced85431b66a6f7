"""Reading the maps of a segmentor while it runs."""
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import torch
from mmseg.models.backbones import ResNet
from torch import Tensor, nn

from .quantities import Maps


@contextmanager
def tap_stages(backbone: nn.Module,
               pre_activation: bool = True) -> Iterator[list[Tensor]]:
    """Read a backbone's maps, one for every stage of ``out_indices``.

    The list is filled when the backbone runs. That costs no second forward
    pass, carries gradients, and leaves no trace once the block ends.

    With ``pre_activation`` (PLOP; RCIL reads after it) the residual sum of
    each stage's last block is read of the mmseg ResNet family; other
    backbones have no such point in common, so their outputs are read.
    """
    maps, sums = [], {}
    residual = pre_activation and isinstance(backbone, ResNet)

    def keep_sum(stage: int, relu: nn.Module, inputs: tuple) -> tuple:
        # a block calls its activation several times; the last call sees the
        # residual sum, which the in-place activation would overwrite
        sums[stage] = inputs[0]
        return (inputs[0].clone(), )

    def collect(module: nn.Module, inputs: tuple, output) -> None:
        # taken here, since checkpointed blocks run again during backward
        if residual:
            output = [sums[stage] for stage in backbone.out_indices]
        maps[:] = [output] if isinstance(output, Tensor) else output

    with ExitStack() as hooks:
        hooks.enter_context(backbone.register_forward_hook(collect))
        for stage in backbone.out_indices if residual else ():
            block = getattr(backbone, backbone.res_layers[stage])[-1]
            hooks.enter_context(block.relu.register_forward_pre_hook(
                partial(keep_sum, stage)))
        yield maps


class TappedOutputs(NamedTuple):
    """The maps that losses compare, and the stages as the heads read them."""
    features: Maps
    stages: Sequence[Tensor]


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
