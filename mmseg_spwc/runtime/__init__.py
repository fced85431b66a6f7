"""What lets a run survive kills, full disks, NaN and ranks that part."""
from .collapse_monitor import CollapseMonitorHook
from .finite_guard import FiniteGuardHook
from .preemption import PreemptionHook
from .resume_state import ResumableEpochLoop, ResumeStateHook
from .safe_checkpoint import SafeCheckpointHook

__all__ = [
    'CollapseMonitorHook', 'FiniteGuardHook', 'PreemptionHook',
    'ResumableEpochLoop', 'ResumeStateHook', 'SafeCheckpointHook'
]
