"""Losses of continual segmentation and classification, one per file."""
from .adaptive_logit import AdaptiveLogitLoss
from .alife_distillation import AlifeDistillationLoss
from .bce_distillation import BCEDistillationLoss
from .class_bce import ClassBCELoss
from .distillation import DistillationLoss
from .feature_mse import FeatureMSELoss
from .head_distillation import HeadDistillationLoss
from .local_pod import LocalPODLoss
from .pixel_cross_entropy import PixelCrossEntropyLoss
from .pooled_cube import PooledCubeLoss
from .task_cross_entropy import TaskCrossEntropyLoss
from .unbiased_cross_entropy import UnbiasedCrossEntropyLoss
from .unbiased_distillation import UnbiasedDistillationLoss

__all__ = [
    'AdaptiveLogitLoss', 'AlifeDistillationLoss', 'BCEDistillationLoss',
    'ClassBCELoss', 'DistillationLoss', 'FeatureMSELoss',
    'HeadDistillationLoss', 'LocalPODLoss', 'PixelCrossEntropyLoss',
    'PooledCubeLoss', 'TaskCrossEntropyLoss', 'UnbiasedCrossEntropyLoss',
    'UnbiasedDistillationLoss'
]
