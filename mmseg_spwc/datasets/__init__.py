"""How the samples of one step are read."""
from .. import compat  # noqa: F401
from .ade_with_void import ADE20KWithVoid
from .batches import BatchRandomFlip, BatchRandomShift
from .continual_cls import ContinualClsDataset
from .continual_seg import ContinualSegDataset
from .images import (
    CifarImages,
    DigitImages,
    IdxImages,
    InMemoryImages,
    TinyImageNet,
)
from .loading import (
    ReplaySampler,
    SeededInfiniteSampler,
    SeededSampler,
    collate_batches,
    steady_worker_init,
)
from .shapes import ShapesDataset
from .transforms import (
    AreaRandomResizedCrop,
    MapLabels,
    PackSample,
    RandomMirror,
    ShortSideCentreCrop,
)

__all__ = [
    'ADE20KWithVoid', 'AreaRandomResizedCrop', 'BatchRandomFlip',
    'BatchRandomShift', 'CifarImages', 'ContinualClsDataset',
    'ContinualSegDataset', 'DigitImages', 'IdxImages', 'InMemoryImages',
    'MapLabels', 'PackSample', 'RandomMirror', 'ReplaySampler',
    'SeededInfiniteSampler', 'SeededSampler', 'ShapesDataset',
    'ShortSideCentreCrop', 'TinyImageNet', 'collate_batches',
    'steady_worker_init'
]
