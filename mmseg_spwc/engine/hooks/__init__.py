"""Registered hooks."""
from .consolidation_hook import ConsolidationHook
from .feature_replay_hook import FeatureReplayHook
from .pseudo_label_hook import PseudoLabelHook
from .resume_state_hook import ResumeStateHook
from .self_paced_hook import SelfPacedHook
from .step_transition_hook import StepTransitionHook

__all__ = [
    'ConsolidationHook', 'FeatureReplayHook', 'PseudoLabelHook',
    'ResumeStateHook', 'SelfPacedHook', 'StepTransitionHook'
]
