"""Files and workers that vanish in the middle of an epoch."""
import os
import signal
import subprocess
import sys
from pathlib import Path

import mishaps  # noqa: F401
import pytest
from digit_runs import ROOT

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.errors import DataLost, data_losses
from mmseg_spwc.runtime.resume_point import check_intact

ONE_WORKER = {'train_dataloader.num_workers': 1}


@pytest.fixture
def one_step(tiny_config, small_copy):
    """One step of a few images, of which none are held out."""

    def make(hook=None, **options):
        return tiny_config(**{
            'data_root': str(small_copy),
            'scenario.steps': [list(range(1, 11))],
            'custom_hooks': [hook] if hook else [],
            'total_batch_size': 2,
            'heldout.ratio': 0,
            **options
        })

    return make


@pytest.fixture
def small_copy(tmp_path):
    from mmseg_spwc.datasets.shapes import generate_shapes
    generate_shapes(tmp_path / 'data', num_train=16, num_val=2, size=32,
                    seed=0)
    return tmp_path / 'data'


def kept_checkpoint(cfg) -> Path:
    path = Path(cfg.work_dir) / 'step_00' / 'epoch_1.pth'
    check_intact(path)
    return path


def test_a_vanished_file_is_named_and_the_run_resumes(one_step, small_copy):
    images = small_copy / 'JPEGImages'
    hook = dict(type='mmseg_spwc.RemoveImages', folder=str(images))
    cfg = one_step(hook, **ONE_WORKER)
    with pytest.raises(
            DataLost,
            match=rf'^The sample of {images}/train_\d+.jpg and .*: restore '
            r'its files .*--resume\.$'):
        ContinualRunner(cfg).train()
    kept_checkpoint(cfg)
    images.with_suffix('.gone').rename(images)
    record = ContinualRunner(one_step(resume=True)).train()
    assert record.finished_steps == [0]


def test_a_second_signal_of_a_dead_worker_does_not_disturb_the_end():
    def handler(*_):
        raise RuntimeError('DataLoader worker (pid 1) is killed by signal')

    before = signal.signal(signal.SIGCHLD, handler)
    try:
        with pytest.raises(DataLost), data_losses():
            handler()
        os.kill(os.getpid(), signal.SIGCHLD)
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_dead_worker_ends_the_run_with_a_sentence(one_step, tmp_path):
    """In a process of its own: torch raises in whatever runs just then."""
    cfg = one_step(
        dict(type='mmseg_spwc.KillWorkers'), **ONE_WORKER,
        custom_imports=dict(imports=['mmseg_spwc', 'mishaps']))
    cfg.dump(tmp_path / 'config.py')
    done = subprocess.run(
        [sys.executable, 'tools/train.py', tmp_path / 'config.py'], cwd=ROOT,
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(
            [str(Path(__file__).parent), str(ROOT)])),
        capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr
    assert 'error: A worker that loads data died' in done.stderr
    assert 'num_workers' in done.stderr and '--resume' in done.stderr
    kept_checkpoint(cfg)
