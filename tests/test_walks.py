"""The walks of docs/architecture.md are what happens."""
import importlib
import inspect
import itertools
import sys
from pathlib import Path

import pytest

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.record import Record

DOC = Path(__file__).resolve().parents[1] / 'docs/architecture.md'
CLASSES = 'models.taps.OldPass.classes'  # of old pixels, found once
PENALTY = ('Consolidation', 'Consolidated')  # only where there is one


def listed(walk: str) -> list[str]:
    """Functions of a walk, in the order of the document."""
    text = DOC.read_text().partition(f'<!-- walk: {walk} -->')[2]
    rows = text.partition('<!-- end -->')[0].strip().splitlines()[2:]
    return [row.split('`')[1] for row in rows]


def code_of(name: str):
    parts = name.split('.')
    for n in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module('.'.join(
                ['mmseg_spwc', *parts[:n]]))
        except ModuleNotFoundError:
            continue
        for part in parts[n:]:
            found = inspect.getattr_static(found, part)
        found = getattr(found, '__func__', getattr(found, 'func', found))
        return inspect.unwrap(found).__code__
    raise LookupError(name)


@pytest.fixture
def calls_in(monkeypatch):
    """Train, and note which of some functions a step calls, in order."""

    def trace(cfg, names: list, step: int = 1) -> list[str]:
        codes = {code_of(name): name for name in names}
        found, run = [], ContinualRunner._run_step

        def note(frame, event, arg):
            if event == 'call' and frame.f_code in codes:
                found.append(codes[frame.f_code])

        def traced(self, record, plan, number):
            if number == step:
                sys.setprofile(note)
            try:
                run(self, record, plan, number)
            finally:
                sys.setprofile(None)

        monkeypatch.setattr(ContinualRunner, '_run_step', traced)
        ContinualRunner(cfg).train()
        return found

    return trace


@pytest.fixture
def small(tiny_config):
    return tiny_config(
        'configs/demo/rcil-spwc_shapes-6-1.py', **{
            'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
            'train_cfg.max_epochs': 1,
            'schedule.later.train_cfg.max_epochs': 1})


def once(names: list) -> list:
    return [name for name, _ in itertools.groupby(names)]


def test_a_boundary_and_a_batch_of_spwc(small, calls_in, monkeypatch):
    boundary, batch = listed('boundary'), listed('batch')
    run = 'engine.sequence.ContinualRunner._run_step'
    names = [n for n in {*boundary, *batch, CLASSES} if n != run]
    with monkeypatch.context() as patch:  # the sequence holds the record
        patch.delattr(Record, 'read')
        calls = [run, *calls_in(small, names)]
    assert once([c for c in calls if c in boundary]) == boundary
    assert calls.count('runtime.checkpoint.load_step') == 2
    first, second, *_ = (i for i, c in enumerate(calls)
                         if c.endswith(batch[1].rpartition('.')[2]))
    # the loader reads a batch before the hooks of its iteration
    one = [c for c in calls[first - 1:second - 1] if c in batch]
    assert calls[first - 1:second - 1].count(CLASSES) == 1
    assert once(one) == [c for c in batch
                         if not any(word in c for word in PENALTY)]


def test_a_batch_with_a_penalty(small, calls_in):
    small.method = type(small).fromfile('configs/_base_/methods/ewc.py').method
    small.self_paced = dict(rule='linear', mu=1.)
    batch = listed('batch')
    calls = calls_in(small, batch)
    start = batch[1]
    first, second, *_ = (i for i, c in enumerate(calls) if c == start)
    assert once(calls[first - 1:second - 1]) == list(dict.fromkeys(batch))
