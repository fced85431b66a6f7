"""Weights from a stranger must not run code."""
import os
from argparse import Namespace
from pathlib import Path

import pytest
import torch

from mmseg_spwc.errors import CheckpointError
from mmseg_spwc.runtime.checkpoint import load_plain


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path, )


@pytest.fixture(params=[None, 'TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD'])
def trusting(request, monkeypatch):
    """A user who told torch to load anything."""
    if request.param:
        monkeypatch.setenv(request.param, '1')
    return torch_variables()


def torch_variables() -> dict:
    return {k: v for k, v in os.environ.items() if k.startswith('TORCH_')}


@pytest.mark.parametrize('zipped', [True, False])
def test_a_trap_is_not_sprung(tmp_path, trusting, zipped):
    path, sprung = tmp_path / 'trap.pth', tmp_path / 'sprung'
    torch.save(dict(state_dict=dict(w=Trap(sprung))), path,
               _use_new_zipfile_serialization=zipped)
    with pytest.raises(CheckpointError, match='trust it, convert it'):
        load_plain(str(path))
    assert not sprung.exists()
    assert torch_variables() == trusting
    torch.load(path, weights_only=False)
    assert sprung.exists()  # it was a trap


def test_plain_weights_are_read(tmp_path, trusting):
    torch.save(dict(w=torch.ones(2)), tmp_path / 'good.pth')
    assert load_plain(str(tmp_path / 'good.pth'))['w'].sum() == 2


def test_the_advice_works(tmp_path, monkeypatch):
    """Other projects' checkpoints hold objects of theirs."""
    torch.save(dict(state_dict=dict(w=torch.ones(2)),
                    options=Namespace(a=1)), tmp_path / 'FILE')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError) as error:
        load_plain('FILE')
    exec(str(error.value).split('"')[1])
    assert load_plain('plain.pth')['w'].sum() == 2


def test_an_old_torch_that_passes_nothing_over_reads_weights(
        tmp_path, monkeypatch):
    monkeypatch.setattr(torch, '__version__', '2.1.2+cu121')
    monkeypatch.delattr(torch.serialization, 'safe_globals', raising=False)
    torch.save(dict(state_dict=dict(w=torch.ones(2))), tmp_path / 'a.pth')
    assert load_plain(str(tmp_path / 'a.pth'))['state_dict']['w'].sum() == 2
