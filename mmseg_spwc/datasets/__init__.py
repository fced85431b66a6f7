"""How the samples of one step are read."""
from .ade_with_void import ADE20KWithVoid
from .continual_seg import ContinualSegDataset
from .samplers import SeededInfiniteSampler, SeededSampler
from .shapes import ShapesDataset
from .transforms import AreaRandomResizedCrop, MapLabels, ShortSideCentreCrop

__all__ = [
    'ADE20KWithVoid', 'AreaRandomResizedCrop', 'ContinualSegDataset',
    'MapLabels', 'SeededInfiniteSampler', 'SeededSampler', 'ShapesDataset',
    'ShortSideCentreCrop'
]
