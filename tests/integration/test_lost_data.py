"""Files and workers that vanish in the middle of an epoch."""
import multiprocessing
import os
import signal
from pathlib import Path

import pytest
from mmengine.hooks import Hook

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.engine.data_loss import DataLost
from mmseg_spwc.engine.errors import user_errors
from mmseg_spwc.engine.resume_point import check_intact
from mmseg_spwc.registry import HOOKS

EPOCH = 2  # of two, with a checkpoint after each


class Mishap(Hook):
    """Does its harm after the first iteration of the second epoch."""

    def before_train_iter(self, runner, batch_idx, data_batch=None):
        if (runner.epoch, batch_idx) == (EPOCH - 1, 1):
            self.harm()


@HOOKS.register_module()
class RemoveFile(Mishap):

    def __init__(self, path):
        self.path = Path(path)

    def harm(self):
        self.path.rename(self.path.with_suffix('.gone'))


@HOOKS.register_module()
class KillWorkers(Mishap):

    def harm(self):
        for worker in multiprocessing.active_children():
            os.kill(worker.pid, signal.SIGKILL)


@pytest.fixture
def one_step(tiny_config, small_copy):
    """One step of a few images in one process, or with workers."""

    def make(hook=None, **options):
        return tiny_config(**{
            'data_root': str(small_copy),
            'scenario.steps': [list(range(1, 11))],
            'custom_hooks': [hook] if hook else [],
            'total_batch_size': 2,
            **options
        })

    return make


@pytest.fixture
def small_copy(tmp_path):
    from mmseg_spwc.datasets.shapes import generate_shapes
    generate_shapes(tmp_path / 'data', num_train=10, num_val=2, size=32,
                    seed=0)
    return tmp_path / 'data'


def last_image(root: Path) -> Path:
    """One that the second epoch reads late (found by trying)."""
    return sorted((root / 'JPEGImages').glob('train*'))[-1]


def kept_checkpoint(cfg) -> Path:
    path = Path(cfg.work_dir) / 'step_00' / 'epoch_1.pth'
    check_intact(path)
    return path


@pytest.mark.parametrize('workers', [0, 1])
def test_a_vanished_file_is_named_and_the_run_resumes(one_step, small_copy,
                                                      workers):
    path = last_image(small_copy)
    hook = dict(type='mmseg_spwc.RemoveFile', path=str(path))
    loading = {'train_dataloader.num_workers': workers}
    cfg = one_step(hook, **loading)
    with pytest.raises(DataLost, match=f'(?s){path}.*restore.*--resume'):
        ContinualRunner(cfg).train()
    kept_checkpoint(cfg)
    path.with_suffix('.gone').rename(path)
    record = ContinualRunner(one_step(resume=True, **loading)).train()
    assert record.finished_steps == [0]


def test_a_dead_worker_is_told_from_other_errors(one_step, capsys):
    cfg = one_step(dict(type='mmseg_spwc.KillWorkers'),
                   **{'train_dataloader.num_workers': 1})
    with pytest.raises(SystemExit) as caught, user_errors():
        ContinualRunner(cfg).train()
    assert caught.value.code == 2
    kept_checkpoint(cfg)
    said = capsys.readouterr().err
    assert 'A worker that loads data died' in said
    assert 'num_workers' in said and '--resume' in said
