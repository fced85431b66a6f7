"""Whole datasets of small images, held in memory as one tensor."""
from . import cifar, idx, tiny_imagenet  # noqa: F401
