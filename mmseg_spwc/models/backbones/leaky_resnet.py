"""ResNet with leaky activations, the backbone of the CSS literature."""
from mmseg.models.backbones import ResNet
from torch import nn

from mmseg_spwc.registry import MODELS


@MODELS.register_module()
class LeakyResNet(ResNet):
    """ResNet v1 (7x7 stem) in which every ReLU is a LeakyReLU.

    MiB, PLOP and RCIL train a ResNet-101 whose normalisation layers are
    in-place activated batch norms with slope 0.01. An ordinary batch norm
    followed by a LeakyReLU computes the same function without a compiled
    extension; :mod:`mmseg_spwc.models.foreign_weights` converts the
    checkpoints. Output stride 16 is ``strides=(1, 2, 2, 1)`` with
    ``dilations=(1, 1, 1, 2)``.

    Stage outputs are taken after the activation. PLOP wants the residual sum
    before it: see :func:`mmseg_spwc.models.taps.tap_stages`.

    Args:
        depth: Depth, one of 18, 34, 50, 101, 152.
        act_slope: Slope of the activation for negative input; 0 is ReLU.
        stem_act: Whether the stem has an activation. False gives
            conv-norm-maxpool, which is what the published RCIL code runs.
        **kwargs: Passed on to :class:`mmseg.models.backbones.ResNet`.
    """

    def __init__(self,
                 depth: int,
                 act_slope: float = 0.01,
                 stem_act: bool = True,
                 **kwargs) -> None:
        if act_slope < 0:
            raise ValueError(
                f'act_slope must not be negative, but got {act_slope}: '
                'activations run in place and could not be differentiated.')
        if kwargs.get('deep_stem'):
            raise ValueError(
                'LeakyResNet has the 7x7 stem of ResNet v1: drop deep_stem, '
                'or use mmseg.ResNetV1c for three 3x3 convolutions.')
        super().__init__(depth, **kwargs)
        _relu_to_leaky(self, act_slope)
        if not stem_act:
            self.relu = nn.Identity()


def _relu_to_leaky(model: nn.Module, slope: float) -> None:
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.ReLU):
                setattr(module, name, nn.LeakyReLU(slope, inplace=True))
