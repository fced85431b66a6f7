"""Whole datasets of small images, held in memory as one tensor."""
from .cifar import CifarImages
from .digits import DigitImages
from .idx import IdxImages
from .source import (
    ImageSource,
    InMemoryImages,
    SampleSource,
    is_source,
    load_source,
)
from .tiny_imagenet import TinyImageNet

__all__ = [
    'CifarImages', 'DigitImages', 'IdxImages', 'ImageSource',
    'InMemoryImages', 'SampleSource', 'TinyImageNet', 'is_source',
    'load_source'
]
