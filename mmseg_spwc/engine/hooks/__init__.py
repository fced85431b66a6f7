"""Registered hooks."""
from .resume_state_hook import ResumeStateHook
from .step_transition_hook import StepTransitionHook

__all__ = ['ResumeStateHook', 'StepTransitionHook']
