"""Which parameters mattered, and how to hold them.

The formulas here know torch and nothing of MMEngine, segmentation or
classification. One thing is taken from that side: the registries in which
importances, forms and updates of the penalty are entered, so that a config
finds them by name, and a user's own beside them.
"""
from .blip import BLIP
from .ema import EMAImportance
from .fisher import FisherImportance, fisher_diagonal, fisher_sum
from .forms import LastForm, OnlineForm, PerStepForm
from .gradient_sums import ABSOLUTE, SQUARE
from .importance import Importance, StepSamples
from .mas import MASImportance, mas_importance, mas_sum
from .quadratic import QuadraticPenalty
from .sample_mean import ImportanceSum, importance_sum
from .si import SIImportance
from .store import StepStore
from .updates import GradientUpdate, ProximalUpdate

__all__ = [
    'ABSOLUTE', 'BLIP', 'SQUARE', 'EMAImportance', 'FisherImportance',
    'GradientUpdate', 'Importance', 'ImportanceSum', 'LastForm',
    'MASImportance', 'OnlineForm', 'PerStepForm', 'ProximalUpdate',
    'QuadraticPenalty', 'SIImportance', 'StepSamples', 'StepStore',
    'fisher_diagonal', 'fisher_sum', 'importance_sum', 'mas_importance',
    'mas_sum'
]
