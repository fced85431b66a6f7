"""Which parameters mattered, and how to hold them.

The formulas here need torch only, not MMEngine, and are the same for
segmentation and classification. The engine registers what a config may name.
"""
from .along_path import EMAImportance, SIImportance
from .blip import BLIP
from .forms import LastForm, OnlineForm, PerStepForm
from .importance import (
    Importance,
    ImportanceSum,
    StepSamples,
    importance_sum,
)
from .measured import (
    FisherImportance,
    MASImportance,
    fisher_diagonal,
    mas_importance,
)
from .per_sample import ABSOLUTE, SQUARE
from .quadratic import QuadraticPenalty
from .store import StepStore
from .updates import GradientUpdate, ProximalUpdate

__all__ = [
    'ABSOLUTE', 'BLIP', 'SQUARE', 'EMAImportance', 'FisherImportance',
    'GradientUpdate', 'Importance', 'ImportanceSum', 'LastForm',
    'MASImportance', 'OnlineForm', 'PerStepForm', 'ProximalUpdate',
    'QuadraticPenalty', 'SIImportance', 'StepSamples', 'StepStore',
    'fisher_diagonal', 'importance_sum', 'mas_importance'
]
