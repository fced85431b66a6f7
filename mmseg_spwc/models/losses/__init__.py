"""Losses of continual segmentation and classification."""
from .cross_entropy import (
    ClassBCELoss,
    PixelCrossEntropyLoss,
    TaskCrossEntropyLoss,
    UnbiasedCrossEntropyLoss,
)
from .distillation import (
    AdaptiveLogitLoss,
    AlifeDistillationLoss,
    BCEDistillationLoss,
    DistillationLoss,
    HeadDistillationLoss,
    UnbiasedDistillationLoss,
)
from .features import FeatureMSELoss, LocalPODLoss, PooledCubeLoss

__all__ = [
    'AdaptiveLogitLoss', 'AlifeDistillationLoss', 'BCEDistillationLoss',
    'ClassBCELoss', 'DistillationLoss', 'FeatureMSELoss',
    'HeadDistillationLoss', 'LocalPODLoss', 'PixelCrossEntropyLoss',
    'PooledCubeLoss', 'TaskCrossEntropyLoss', 'UnbiasedCrossEntropyLoss',
    'UnbiasedDistillationLoss'
]
