import os

import pytest
import torch
from safetensors.torch import save_file

from mmseg_spwc.consolidation import StepStore


def make_step(seed, extra=()):
    torch.manual_seed(seed)
    names = ['trunk.weight', 'trunk.bias', *extra]
    shapes = [(4, 3), (4, )] + [(2, )] * len(extra)
    importances = {n: torch.rand(s) for n, s in zip(
        names, shapes, strict=True)}
    anchors = {n: torch.randn(s) for n, s in zip(names, shapes, strict=True)}
    return importances, anchors


def test_round_trip(tmp_path):
    store = StepStore(tmp_path / 'deep' / 'store')
    importances, anchors = make_step(0)
    path = store.save(3, importances, anchors)
    assert path.name == 'task_003.safetensors'
    store.save(11, *make_step(1))
    assert store.steps() == [3, 11]
    for loaded, saved in zip(store.load(3), (importances, anchors),
                             strict=True):
        assert loaded.keys() == saved.keys()
        assert all(torch.equal(loaded[n], saved[n]) for n in saved)


def test_bfloat16_importances(tmp_path):
    store = StepStore(tmp_path, importance_dtype=torch.bfloat16)
    importances = {'w': torch.logspace(-30, 5, 200)}
    anchors = {'w': torch.randn(200)}
    small = store.save(0, importances, anchors).stat().st_size
    loaded, kept = store.load(0)
    assert loaded['w'].dtype == torch.bfloat16
    assert torch.equal(kept['w'], anchors['w'])
    error = (loaded['w'].float() / importances['w'] - 1).abs().max()
    assert 0 < error <= 2**-8
    large = StepStore(tmp_path).save(1, importances, anchors).stat().st_size
    assert large - small == pytest.approx(400, abs=16)
    named = StepStore(tmp_path, importance_dtype='bfloat16')
    assert named.importance_dtype == torch.bfloat16
    for wrong in (torch.float16, 'float16', 'half a byte'):
        with pytest.raises(ValueError, match='bfloat16'):
            StepStore(tmp_path, importance_dtype=wrong)


def test_views_and_shared_memory_are_stored_as_values(tmp_path):
    base = torch.arange(12.).reshape(3, 4)
    store = StepStore(tmp_path)
    store.save(0, {'w': base.t()}, {'w': base.t()})
    importances, anchors = store.load(0)
    assert torch.equal(importances['w'], base.t())
    assert torch.equal(anchors['w'], base.t())


def test_interrupted_writing_leaves_the_old_file(tmp_path, monkeypatch):
    store = StepStore(tmp_path)
    importances, anchors = make_step(0)
    store.save(0, importances, anchors)

    def fail(descriptor):
        raise OSError('disk full')

    monkeypatch.setattr(os, 'fsync', fail)
    with pytest.raises(OSError, match='disk full'):
        store.save(0, *make_step(1))
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == [
        'task_000.safetensors'
    ]
    assert torch.equal(store.load(0)[0]['trunk.bias'],
                       importances['trunk.bias'])


def test_damaged_and_foreign_files(tmp_path):
    store = StepStore(tmp_path)
    path = store.save(0, *make_step(0))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match='damaged'):
        store.load(0)
    save_file({'w': torch.zeros(1)}, path)
    with pytest.raises(ValueError, match='format'):
        store.load(0)


def test_inconsistent_steps(tmp_path):
    store = StepStore(tmp_path)
    with pytest.raises(ValueError, match='shape'):
        store.save(0, {'w': torch.zeros(2)}, {'w': torch.zeros(3)})
    with pytest.raises(KeyError, match='no anchor'):
        store.save(0, {'w': torch.zeros(2)}, {})
    assert store.steps() == []
