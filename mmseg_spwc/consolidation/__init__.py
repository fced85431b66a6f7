"""Which parameters mattered, and how to hold them."""
from .batched_fisher import batched_fisher
from .blip import BLIP
from .importance import (
    ImportanceSum,
    fisher_diagonal,
    fisher_sum,
    mas_importance,
    mas_sum,
)
from .quadratic import QuadraticPenalty
from .store import TaskStore
from .synaptic import SynapticIntelligence

__all__ = [
    'BLIP', 'ImportanceSum', 'QuadraticPenalty', 'SynapticIntelligence',
    'TaskStore', 'batched_fisher', 'fisher_diagonal', 'fisher_sum',
    'mas_importance', 'mas_sum'
]
