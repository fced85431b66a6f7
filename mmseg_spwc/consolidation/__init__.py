"""Which parameters mattered, and how to hold them."""
from .importance import (
    ImportanceSum,
    fisher_diagonal,
    fisher_sum,
    mas_importance,
    mas_sum,
)
from .quadratic import QuadraticPenalty

__all__ = [
    'ImportanceSum', 'QuadraticPenalty', 'fisher_diagonal', 'fisher_sum',
    'mas_importance', 'mas_sum'
]
