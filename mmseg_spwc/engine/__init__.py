"""The order of things in time: the sequence and its hooks."""
from mmseg_spwc import compat, runtime, trackers  # noqa: F401

from . import hooks, optim  # noqa: F401
from .sequence import ContinualRunner
from .sharded_model import ShardedModel
from .step_config import step_config

__all__ = ['ContinualRunner', 'ShardedModel', 'step_config']
