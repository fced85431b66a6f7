"""The order of things in time: the sequence, its hooks, its configs."""
from mmseg_spwc import compat, trackers  # noqa: F401

from . import hooks, optim, safety  # noqa: F401
from .sequence import ContinualRunner
from .sharded_model import ShardedModel
from .step_config import step_config

__all__ = ['ContinualRunner', 'ShardedModel', 'step_config']
