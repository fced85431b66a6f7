"""Losses of continual segmentation and classification."""
from .class_similarity import ClassSimilarityLoss
from .contrast import ContrastiveDistillationLoss
from .cross_entropy import (
    ClassBCELoss,
    ExtraRowLoss,
    NewClassBCELoss,
    PixelCrossEntropyLoss,
    TaskCrossEntropyLoss,
    UnbiasedCrossEntropyLoss,
)
from .disentangling import DisentanglingLoss
from .distillation import (
    AdaptiveLogitLoss,
    AlifeDistillationLoss,
    BCEDistillationLoss,
    DecomposedDistillationLoss,
    DistillationLoss,
    HeadDistillationLoss,
    LabelGuidedLoss,
    UnbiasedDistillationLoss,
)
from .features import FeatureMSELoss, LocalPODLoss, PooledCubeLoss

__all__ = [
    'AdaptiveLogitLoss', 'AlifeDistillationLoss', 'BCEDistillationLoss',
    'ClassBCELoss', 'ClassSimilarityLoss', 'ContrastiveDistillationLoss',
    'DecomposedDistillationLoss', 'DisentanglingLoss', 'DistillationLoss',
    'ExtraRowLoss', 'FeatureMSELoss', 'HeadDistillationLoss',
    'LabelGuidedLoss', 'LocalPODLoss', 'NewClassBCELoss',
    'PixelCrossEntropyLoss', 'PooledCubeLoss', 'TaskCrossEntropyLoss',
    'UnbiasedCrossEntropyLoss', 'UnbiasedDistillationLoss'
]
