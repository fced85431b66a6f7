"""The order of things in time: the sequence, its hooks, its configs."""
from . import hooks, optim  # noqa: F401
from .one_run_backends import (
    OneRunMLflowVisBackend,
    OneRunWandbVisBackend,
)
from .resumable_loop import ResumableEpochLoop
from .sequence import ContinualRunner
from .sequence_log_processor import SequenceLogProcessor
from .sequence_vis_backend import SequenceVisBackend
from .sharded_model import ShardedModel
from .step_config import step_config

__all__ = [
    'ContinualRunner', 'OneRunMLflowVisBackend', 'OneRunWandbVisBackend',
    'ResumableEpochLoop', 'SequenceLogProcessor', 'SequenceVisBackend',
    'ShardedModel', 'step_config'
]
