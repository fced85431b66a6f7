"""Backbones that MMSegmentation does not have."""
from .leaky_resnet import LeakyResNet

__all__ = ['LeakyResNet']
