"""The model inside a wrapper; what ranks share is in tests/integration."""
from torch import nn

from mmseg_spwc.engine import ShardedModel
from mmseg_spwc.utils.distributed import unwrap


def test_unwrap():
    model = nn.Linear(2, 1)
    assert unwrap(model) is model
    assert unwrap(ShardedModel(model)) is model
