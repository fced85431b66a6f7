"""Backbones that MMSegmentation and MMPretrain do not have."""
from collections.abc import Sequence

import torch
from mmengine.model import BaseModule
from mmseg.models.backbones import ResNet
from torch import Tensor, nn

from mmseg_spwc.registry import MODELS

STAGES = ((64, ), (64, ), (64, 64), (128, 128))
INIT = (
    dict(type='Kaiming', layer='Conv2d', mode='fan_out',
         distribution='normal', bias=0),
    dict(type='Kaiming', layer='Linear', mode='fan_in',
         distribution='normal', bias=0),
)


@MODELS.register_module()
class LeakyResNet(ResNet):
    """ResNet v1 (7x7 stem) in which every ReLU is a LeakyReLU.

    MiB, PLOP and RCIL train a ResNet-101 whose normalisation layers are
    in-place activated batch norms with slope 0.01. An ordinary batch norm
    followed by a LeakyReLU computes the same function without a compiled
    extension. Output stride 16 is ``strides=(1, 2, 2, 1)`` with
    ``dilations=(1, 1, 1, 2)``.

    Args:
        depth: Depth, one of 18, 34, 50, 101, 152.
        act_slope: Slope of the activation for negative input; 0 is ReLU.
        stem_act: Whether the stem has an activation. False gives
            conv-norm-maxpool, which is what the published RCIL code runs.
        **kwargs: Those of :class:`mmseg.models.backbones.ResNet`.
    """

    def __init__(self, depth: int, act_slope: float = 0.01,
                 stem_act: bool = True, **kwargs) -> None:
        if act_slope < 0:
            raise ValueError(
                f'act_slope must not be negative, but got {act_slope}: '
                'activations run in place and could not be differentiated.')
        if kwargs.get('deep_stem'):
            raise ValueError(
                'LeakyResNet has the 7x7 stem of ResNet v1: drop deep_stem, '
                'or use mmseg.ResNetV1c for three 3x3 convolutions.')
        super().__init__(depth, **kwargs)
        for module in list(self.modules()):
            for name, child in module.named_children():
                if isinstance(child, nn.ReLU):
                    act = nn.LeakyReLU(act_slope, inplace=True)
                    setattr(module, name, act)
        if not stem_act:
            self.relu = nn.Identity()


@MODELS.register_module()
class MLPBackbone(BaseModule):
    """Linear layers with ReLU on the flattened image.

    The defaults are the network of spWC and of van de Ven's scenarios for
    images padded to 32 x 32: 570 400 parameters without a head.

    Args:
        in_features (int): Numbers in an image. Defaults to 1024.
        hidden (Sequence[int]): Sizes of the layers. Defaults to (400, 400).
        dropout (float): Share of activations dropped after every layer.
            Defaults to 0.
        init_cfg (dict, optional): MMEngine's initialisation. Defaults to
            None, torch's own.
    """

    def __init__(self, in_features: int = 1024,
                 hidden: Sequence[int] = (400, 400), dropout: float = 0.,
                 init_cfg: dict | None = None) -> None:
        super().__init__(init_cfg)
        self.in_features = in_features
        layers = []
        for size in hidden:
            layers += [nn.Linear(in_features, size), nn.ReLU()]
            if dropout:
                layers.append(nn.Dropout(dropout))
            in_features = size
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> tuple[Tensor]:
        """Map images (B, ...) to features ((B, hidden[-1]),)."""
        flat = x.flatten(1)
        if flat.shape[1] != self.in_features:
            raise ValueError(
                f'The images {tuple(x.shape[1:])} hold {flat.shape[1]} '
                f'numbers: set in_features, which is {self.in_features}.')
        return (self.layers(flat), )


@MODELS.register_module()
class SmallVGG(BaseModule):
    """VGG9 without batch norm: six convolutions and two linear layers.

    With the head that follows it is the model "SMALL" of the
    `survey <https://arxiv.org/abs/1909.08383>`_: 612 800 parameters without
    a head for images of 64 px, 416 192 for 32 px.

    Args:
        stages (Sequence[Sequence[int]]): Channels of the 3x3 convolutions
            of each stage; every stage ends in a 2x2 max pooling. Defaults to
            ((64,), (64,), (64, 64), (128, 128)).
        hidden (Sequence[int]): Sizes of the linear layers. Defaults to
            (128, 128).
        in_channels (int): Channels of the images. Defaults to 3.
        image_size (int): Their height and width. Defaults to 64.
        init_cfg (dict | list[dict], optional): MMEngine's initialisation.
            Defaults to Kaiming's normal one, by fan-out for convolutions
            and by fan-in for linear layers; None is torch's own. With the
            survey's N(0, 0.01^2) for linear layers no task is learnt in 20
            epochs.
    """

    def __init__(self, stages: Sequence[Sequence[int]] = STAGES,
                 hidden: Sequence[int] = (128, 128), in_channels: int = 3,
                 image_size: int = 64,
                 init_cfg: dict | Sequence[dict] | None = INIT) -> None:
        super().__init__(list(INIT) if init_cfg is INIT else init_cfg)
        side, rest = divmod(image_size, 2**len(stages))
        if rest or not side:
            raise ValueError(
                f'image_size must be a multiple of {2**len(stages)} for '
                f'{len(stages)} stages, got {image_size}.')
        self.image_size = image_size
        layers = []
        for stage in stages:
            for width in stage:
                layers += [nn.Conv2d(in_channels, width, 3, padding=1),
                           nn.ReLU(inplace=True)]
                in_channels = width
            layers.append(nn.MaxPool2d(2))
        self.convs = nn.Sequential(*layers)
        size, layers = in_channels * side**2, []
        for width in hidden:
            layers += [nn.Linear(size, width), nn.ReLU(inplace=True)]
            size = width
        self.linears = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> tuple[Tensor]:
        """Map images (B, in_channels, H, W) to ((B, hidden[-1]),)."""
        if x.shape[2:] != (self.image_size, self.image_size):
            raise ValueError(
                f'The images are {tuple(x.shape[2:])}: set image_size, '
                f'which is {self.image_size}.')
        if x.device.type == 'cpu':  # there it trains 1.6 times as fast
            x = x.contiguous(memory_format=torch.channels_last)
        return (self.linears(self.convs(x).flatten(1)), )
