"""How the samples of one step are read."""
from .ade_with_void import ADE20KWithVoid
from .batch_augment import BatchRandomFlip, BatchRandomShift
from .collate import collate_batches
from .continual_cls import ContinualClsDataset
from .continual_seg import ContinualSegDataset
from .images import (
    CifarImages,
    DigitImages,
    IdxImages,
    InMemoryImages,
    TinyImageNet,
)
from .samplers import SeededInfiniteSampler, SeededSampler
from .shapes import ShapesDataset
from .steady_worker import steady_worker_init
from .transforms import AreaRandomResizedCrop, MapLabels, ShortSideCentreCrop

__all__ = [
    'ADE20KWithVoid', 'AreaRandomResizedCrop', 'BatchRandomFlip',
    'BatchRandomShift', 'CifarImages', 'ContinualClsDataset',
    'ContinualSegDataset', 'DigitImages', 'IdxImages', 'InMemoryImages',
    'MapLabels', 'SeededInfiniteSampler', 'SeededSampler', 'ShapesDataset',
    'ShortSideCentreCrop', 'TinyImageNet', 'collate_batches',
    'steady_worker_init'
]
