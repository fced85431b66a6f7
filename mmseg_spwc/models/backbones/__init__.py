"""Backbones that MMSegmentation and MMPretrain do not have."""
from .leaky_resnet import LeakyResNet
from .mlp import MLPBackbone
from .small_vgg import SmallVGG

__all__ = ['LeakyResNet', 'MLPBackbone', 'SmallVGG']
