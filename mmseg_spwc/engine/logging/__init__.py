"""What a run says: in the terminal, to visualisers, in the record."""
from .one_run_backends import OneRunMLflowVisBackend, OneRunWandbVisBackend
from .sequence_vis_backend import SequenceVisBackend
from .terminal import DisplayHook, SequenceLogProcessor

__all__ = [
    'DisplayHook', 'OneRunMLflowVisBackend', 'OneRunWandbVisBackend',
    'SequenceLogProcessor', 'SequenceVisBackend'
]
