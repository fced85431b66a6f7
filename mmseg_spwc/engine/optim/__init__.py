"""Optimiser wrappers."""
from .consolidated import (
    Consolidated,
    ConsolidatedAmpOptimWrapper,
    ConsolidatedCpuAmpOptimWrapper,
    ConsolidatedOptimWrapper,
)
from .cpu_amp import CpuAmpOptimWrapper

__all__ = [
    'Consolidated', 'ConsolidatedAmpOptimWrapper',
    'ConsolidatedCpuAmpOptimWrapper', 'ConsolidatedOptimWrapper',
    'CpuAmpOptimWrapper'
]
