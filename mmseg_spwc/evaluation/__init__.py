"""What a sequence achieved: accuracy matrix and parameter size."""
from .acceptance import judge
from .matrix import AccuracyMatrix
from .parameter_size import (
    parameter_size_efficiency,
    resident_efficiency,
    stored_efficiency,
)

__all__ = [
    'AccuracyMatrix', 'judge', 'parameter_size_efficiency',
    'resident_efficiency', 'stored_efficiency'
]
