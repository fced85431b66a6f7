"""Hooks that make the steps and the methods."""
from .bit_preserving_hook import BitPreservingHook
from .consolidation_hook import ConsolidationHook
from .feature_replay_hook import FeatureReplayHook
from .pretuning_hook import PretuningHook
from .prototype_hook import PrototypeHook
from .pseudo_label_hook import PseudoLabelHook
from .self_paced_hook import ReplayPriorityHook, SelfPacedHook
from .step_transition_hook import StepTransitionHook
from .weight_fusion_hook import SelfPacedFusionHook, WeightFusionHook

__all__ = [
    'BitPreservingHook', 'ConsolidationHook', 'FeatureReplayHook',
    'PretuningHook', 'PrototypeHook', 'PseudoLabelHook',
    'ReplayPriorityHook', 'SelfPacedFusionHook', 'SelfPacedHook',
    'StepTransitionHook', 'WeightFusionHook'
]
