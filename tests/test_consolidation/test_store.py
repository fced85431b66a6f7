import os

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from mmseg_spwc.consolidation import QuadraticPenalty, TaskStore


def make_task(seed, extra=()):
    torch.manual_seed(seed)
    names = ['trunk.weight', 'trunk.bias', *extra]
    shapes = [(4, 3), (4, )] + [(2, )] * len(extra)
    importances = {n: torch.rand(s) for n, s in zip(
        names, shapes, strict=True)}
    anchors = {n: torch.randn(s) for n, s in zip(names, shapes, strict=True)}
    return importances, anchors


def test_round_trip(tmp_path):
    store = TaskStore(tmp_path / 'deep' / 'store')
    importances, anchors = make_task(0)
    path = store.save(3, importances, anchors, psi=.5, name='cats')
    assert path.name == 'task_003.safetensors'
    store.save(11, *make_task(1))
    assert store.tasks() == [3, 11]
    for loaded, saved in zip(store.load(3), (importances, anchors),
                             strict=True):
        assert loaded.keys() == saved.keys()
        assert all(torch.equal(loaded[n], saved[n]) for n in saved)
    assert store.notes(3) == {'psi': .5, 'name': 'cats'}
    assert store.notes(11) == {}


def test_bfloat16_importances(tmp_path):
    store = TaskStore(tmp_path, importance_dtype=torch.bfloat16)
    importances = {'w': torch.logspace(-30, 5, 200)}
    anchors = {'w': torch.randn(200)}
    small = store.save(0, importances, anchors).stat().st_size
    loaded, kept = store.load(0)
    assert loaded['w'].dtype == torch.bfloat16
    assert torch.equal(kept['w'], anchors['w'])
    error = (loaded['w'].float() / importances['w'] - 1).abs().max()
    assert 0 < error <= 2**-8
    large = TaskStore(tmp_path).save(1, importances, anchors).stat().st_size
    assert large - small == pytest.approx(400, abs=16)
    with pytest.raises(ValueError, match='bfloat16'):
        TaskStore(tmp_path, importance_dtype=torch.float16)


def test_views_and_shared_memory_are_stored_as_values(tmp_path):
    base = torch.arange(12.).reshape(3, 4)
    store = TaskStore(tmp_path)
    store.save(0, {'w': base.t()}, {'w': base.t()})
    importances, anchors = store.load(0)
    assert torch.equal(importances['w'], base.t())
    assert torch.equal(anchors['w'], base.t())


def test_penalty_streams_the_weighted_tasks(tmp_path):
    store, expected = TaskStore(tmp_path), QuadraticPenalty()
    weights = {0: .5, 1: 0., 2: 3.}
    for task, weight in weights.items():
        importances, anchors = make_task(task)
        store.save(task, importances, anchors)
        expected.add(weight, importances, anchors)
    params = {n: nn.Parameter(p) for n, p in make_task(9)[1].items()}
    penalty = store.penalty(weights, params)
    assert torch.equal(penalty.value(params), expected.value(params))
    assert penalty.value(params) > 0


def test_dropped_tasks_are_not_read(tmp_path):
    store = TaskStore(tmp_path)
    store.save(0, *make_task(0))
    store.penalty({0: 1., 7: 0.})
    with pytest.raises(FileNotFoundError, match=r'stored tasks: \[0\]'):
        store.penalty({7: 1.})


def test_another_architecture_is_refused(tmp_path):
    store = TaskStore(tmp_path)
    store.save(0, *make_task(0, extra=['head.0.weight']))
    model = make_task(0, extra=['head.0.weight', 'head.1.weight'])[1]
    store.check(0, model)  # a newer head is fine
    grown = {**model, 'trunk.weight': torch.zeros(8, 3)}
    with pytest.raises(ValueError, match=r'trunk.weight is \(4, 3\).*8'):
        store.check(0, grown)
    without = {n: p for n, p in model.items() if n != 'head.0.weight'}
    with pytest.raises(ValueError, match='head.0.weight.*absent'):
        store.penalty({0: 1.}, without)


def test_interrupted_writing_leaves_the_old_file(tmp_path, monkeypatch):
    store = TaskStore(tmp_path)
    importances, anchors = make_task(0)
    store.save(0, importances, anchors)

    def fail(descriptor):
        raise OSError('disk full')

    monkeypatch.setattr(os, 'fsync', fail)
    with pytest.raises(OSError, match='disk full'):
        store.save(0, *make_task(1))
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == [
        'task_000.safetensors'
    ]
    assert torch.equal(store.load(0)[0]['trunk.bias'],
                       importances['trunk.bias'])


def test_damaged_and_foreign_files(tmp_path):
    store = TaskStore(tmp_path)
    path = store.save(0, *make_task(0))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match='damaged'):
        store.load(0)
    save_file({'w': torch.zeros(1)}, path)
    with pytest.raises(ValueError, match='format'):
        store.load(0)


def test_inconsistent_tasks(tmp_path):
    store = TaskStore(tmp_path)
    with pytest.raises(ValueError, match='shape'):
        store.save(0, {'w': torch.zeros(2)}, {'w': torch.zeros(3)})
    with pytest.raises(KeyError, match='no anchor'):
        store.save(0, {'w': torch.zeros(2)}, {})
    assert store.tasks() == []
