"""Registered hooks."""
from .bit_preserving_hook import BitPreservingHook
from .collapse_monitor_hook import CollapseMonitorHook
from .consolidation_hook import ConsolidationHook
from .feature_replay_hook import FeatureReplayHook
from .finite_guard_hook import FiniteGuardHook
from .preemption_hook import PreemptionHook
from .pseudo_label_hook import PseudoLabelHook
from .resume_state_hook import ResumeStateHook
from .safe_checkpoint_hook import SafeCheckpointHook
from .self_paced_hook import SelfPacedHook
from .step_transition_hook import StepTransitionHook

__all__ = [
    'BitPreservingHook', 'CollapseMonitorHook', 'ConsolidationHook',
    'FeatureReplayHook', 'FiniteGuardHook', 'PreemptionHook',
    'PseudoLabelHook', 'ResumeStateHook', 'SafeCheckpointHook',
    'SelfPacedHook', 'StepTransitionHook'
]
