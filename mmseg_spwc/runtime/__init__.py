"""Processes and crashes: kills, full disks, NaN, ranks that disagree."""
from .collapse_monitor import CollapseMonitorHook
from .finite_guard import FiniteGuardHook
from .preemption import PreemptionHook
from .resume_state import ResumableEpochLoop, ResumeStateHook
from .safe_checkpoint import SafeCheckpointHook

__all__ = [
    'CollapseMonitorHook', 'FiniteGuardHook', 'PreemptionHook',
    'ResumableEpochLoop', 'ResumeStateHook', 'SafeCheckpointHook'
]
