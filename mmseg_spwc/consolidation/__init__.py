"""Which parameters mattered, and how to hold them.

The formulas here know torch and nothing of MMEngine, segmentation or
classification. The engine registers what a config may name.
"""
from .blip import BLIP
from .ema import EMAImportance
from .fisher import FisherImportance, fisher_diagonal
from .forms import LastForm, OnlineForm, PerStepForm
from .importance import (
    Importance,
    ImportanceSum,
    StepSamples,
    importance_sum,
)
from .mas import MASImportance, mas_importance
from .per_sample import ABSOLUTE, SQUARE
from .quadratic import QuadraticPenalty
from .si import SIImportance
from .store import StepStore
from .updates import GradientUpdate, ProximalUpdate

__all__ = [
    'ABSOLUTE', 'BLIP', 'SQUARE', 'EMAImportance', 'FisherImportance',
    'GradientUpdate', 'Importance', 'ImportanceSum', 'LastForm',
    'MASImportance', 'OnlineForm', 'PerStepForm', 'ProximalUpdate',
    'QuadraticPenalty', 'SIImportance', 'StepSamples', 'StepStore',
    'fisher_diagonal', 'importance_sum', 'mas_importance'
]
