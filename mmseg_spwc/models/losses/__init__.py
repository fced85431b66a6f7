"""Losses of continual segmentation and classification."""
from .class_similarity import ClassSimilarityLoss
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
    LabelGuidedLoss,
    UnbiasedDistillationLoss,
)
from .features import FeatureMSELoss, LocalPODLoss, PooledCubeLoss

__all__ = [
    'AdaptiveLogitLoss', 'AlifeDistillationLoss', 'BCEDistillationLoss',
    'ClassBCELoss', 'ClassSimilarityLoss', 'DistillationLoss',
    'FeatureMSELoss', 'HeadDistillationLoss', 'LabelGuidedLoss',
    'LocalPODLoss', 'PixelCrossEntropyLoss', 'PooledCubeLoss',
    'TaskCrossEntropyLoss', 'UnbiasedCrossEntropyLoss',
    'UnbiasedDistillationLoss'
]
