"""What a run says: in the terminal, to visualisers, in the record."""
from .one_run_backends import OneRunMLflowVisBackend, OneRunWandbVisBackend
from .sequence_vis_backend import SequenceVisBackend
from .terminal import SequenceLogProcessor

__all__ = [
    'OneRunMLflowVisBackend', 'OneRunWandbVisBackend',
    'SequenceLogProcessor', 'SequenceVisBackend'
]
