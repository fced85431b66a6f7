"""Whole data sets of small images, held in memory as one tensor."""
from .cifar import CifarImages
from .digits import DigitImages
from .idx import IdxImages
from .in_memory import InMemoryImages
from .source import ImageSource, is_source, load_source
from .tiny_imagenet import TinyImageNet

__all__ = [
    'CifarImages', 'DigitImages', 'IdxImages', 'ImageSource',
    'InMemoryImages', 'TinyImageNet', 'is_source', 'load_source'
]
