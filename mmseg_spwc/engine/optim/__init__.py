"""Optimiser wrappers."""
from .cpu_amp import CpuAmpOptimWrapper

__all__ = ['CpuAmpOptimWrapper']
