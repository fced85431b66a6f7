"""The model inside a wrapper; what ranks share is in tests/integration."""
import re
from pathlib import Path

import pytest
import torch
from torch import nn

import mmseg_spwc
from mmseg_spwc.engine import ShardedModel
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.utils.distributed import unwrap


def test_unwrap():
    model = nn.Linear(2, 1)
    assert unwrap(model) is model
    assert unwrap(ShardedModel(model)) is model


def test_a_sharded_model_says_which_torch_it_needs(monkeypatch):
    monkeypatch.setattr(torch, '__version__', '2.1.2+cpu')
    with pytest.raises(ConfigError, match='torch 2.6 or newer, this is 2.1'):
        ShardedModel(nn.Linear(2, 1))


def test_processes_talk_through_mmengine_alone():
    """It puts tensors where the group's backend needs them: NCCL refuses
    those of the CPU, gloo does not mind."""
    allowed = {'init_process_group', 'is_initialized',
               'destroy_process_group', 'run', 'device_mesh', 'fsdp',
               'checkpoint'}
    found = {}
    for path in Path(mmseg_spwc.__file__).parent.rglob('*.py'):
        text = path.read_text()
        assert 'import torch.distributed' not in text, path
        names = re.findall(r'torch\.distributed\.(\w+)', text) + re.findall(
            r'from torch\.distributed import (.*)', text) + re.findall(
                r'from torch import (.*distributed.*)', text)
        found[path.name] = set(names) - allowed
    assert not {path: names for path, names in found.items() if names}
