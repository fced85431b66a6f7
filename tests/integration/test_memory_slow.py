"""Thirty steps in one process need no more than a few."""
import gc
import os
import statistics

import pytest
from digit_runs import digits, train

from mmseg_spwc.engine import ContinualRunner

WARM_UP = 5
ROOM = 1.05


def resident_memory() -> int:
    with open('/proc/self/statm') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')


def open_files() -> int:
    return len(os.listdir('/proc/self/fd'))


@pytest.fixture
def watched(monkeypatch) -> list:
    """Memory, open files and kept loggers after every step."""
    seen = []
    run_step = ContinualRunner._run_step

    def run_and_look(self, *args):
        run_step(self, *args)
        gc.collect()
        seen.append((resident_memory(), open_files(), kept_instances()))

    monkeypatch.setattr(ContinualRunner, '_run_step', run_and_look)
    return seen


def kept_instances() -> int:
    from mmengine.logging import MessageHub, MMLogger
    from mmengine.visualization import Visualizer
    return sum(len(kind._instance_dict)
               for kind in (MessageHub, MMLogger, Visualizer))


@pytest.mark.slow
@pytest.mark.parametrize('method', ['finetune', 'ewc-spwc'])
def test_thirty_steps_leave_nothing_behind(method, watched, tmp_path):
    train(digits(tmp_path / 'run', method, **{
        'scenario.name': '30', 'train_cfg.max_epochs': 1}))
    assert len(watched) == 30
    memory, files, instances = zip(*watched[WARM_UP:], strict=True)
    assert len(set(files)) == 1
    assert len(set(instances)) == 1
    # allocators give memory back late: compare means, not single steps
    begin, end = statistics.mean(memory[:8]), statistics.mean(memory[-8:])
    assert end < ROOM * begin
    assert max(memory) < ROOM * statistics.median(memory)
