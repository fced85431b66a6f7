"""Processes and crashes: kills, full disks, NaN, ranks that disagree."""
from .checkpoint_hook import SafeCheckpointHook
from .collapse_monitor import CollapseMonitorHook
from .finite_guard import FiniteGuardHook
from .preemption import PreemptionHook
from .resume_point import ResumableEpochLoop

__all__ = [
    'CollapseMonitorHook', 'FiniteGuardHook', 'PreemptionHook',
    'ResumableEpochLoop', 'SafeCheckpointHook'
]
