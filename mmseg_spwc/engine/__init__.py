"""The order of things in time: the sequence, its hooks, its configs."""
from .. import compat  # noqa: F401
from . import hooks, logging, optim, safety  # noqa: F401
from .sequence import ContinualRunner
from .sharded_model import ShardedModel
from .step_config import step_config

__all__ = ['ContinualRunner', 'ShardedModel', 'step_config']
