"""What every step's config gets."""
import functools
import os
import signal
import subprocess
import sys
import time

import pytest
import torch
from mmengine.config import Config

from mmseg_spwc.config.step import add_guards
from mmseg_spwc.config.types import GUARDS
from mmseg_spwc.datasets.loading import steady_worker_init


def guarded(**changes):
    cfg = Config(dict(dict(train_cfg=dict(max_epochs=2)), **changes))
    add_guards(cfg)
    return cfg


def test_mmsegs_own_config_gets_them_all():
    cfg = guarded(
        train_cfg=dict(type='EpochBasedTrainLoop', max_epochs=2),
        default_hooks=dict(
            logger=dict(type='LoggerHook'),
            checkpoint=dict(type='CheckpointHook', interval=3)))
    assert cfg.default_hooks.checkpoint == dict(
        type='mmseg_spwc.SafeCheckpointHook', interval=3)
    assert cfg.train_cfg.type == 'mmseg_spwc.ResumableEpochLoop'
    assert set(GUARDS) <= set(cfg.default_hooks)
    assert cfg.default_hooks.logger.type == 'LoggerHook'


def test_they_can_be_set_and_left_out():
    cfg = guarded(default_hooks=dict(
        finite_guard=None, collapse_monitor=dict(window=7),
        checkpoint=dict(type='Mine')))
    assert 'finite_guard' not in cfg.default_hooks
    assert cfg.default_hooks.collapse_monitor == dict(
        type='mmseg_spwc.CollapseMonitorHook', window=7)
    assert cfg.default_hooks.checkpoint.type == 'Mine'


def test_other_loops_are_left_alone():
    assert guarded(train_cfg=dict(by_epoch=False, max_iters=9)).train_cfg == \
        dict(by_epoch=False, max_iters=9)
    assert guarded(train_cfg=dict(by_epoch=True, max_epochs=9)).train_cfg == \
        dict(type='mmseg_spwc.ResumableEpochLoop', max_epochs=9)
    assert guarded(train_cfg=dict(type='Mine', max_epochs=9)).train_cfg.type \
        == 'Mine'


def test_no_workers_take_no_options_of_workers():
    loader = dict(num_workers=0, persistent_workers=True, prefetch_factor=2)
    cfg = guarded(train_dataloader=loader)
    assert dict(cfg.train_dataloader) == dict(num_workers=0)
    kept = guarded(train_dataloader=dict(loader, num_workers=2))
    assert kept.train_dataloader.persistent_workers


def test_workers_survive_the_first_sigterm_only():
    cfg = guarded(
        train_dataloader=dict(
            num_workers=2, disable_subprocess_warning=True),
        randomness=dict(seed=5), val_dataloader=None,
        test_dataloader=dict(num_workers=0))
    given = cfg.train_dataloader.worker_init_fn
    assert given == dict(type='mmseg_spwc.steady_worker_init', num_workers=2,
                         seed=5, disable_subprocess_warning=True)
    assert 'worker_init_fn' not in cfg.test_dataloader
    loader = torch.utils.data.DataLoader(
        range(100), num_workers=1, batch_size=1,
        worker_init_fn=functools.partial(
            steady_worker_init, num_workers=2, seed=5))
    batches = iter(loader)
    assert next(batches) == 0
    worker, = batches._workers
    os.kill(worker.pid, signal.SIGTERM)
    assert [int(b) for b in batches] == list(range(1, 100))
    again = iter(loader)
    worker, = again._workers
    next(again)
    with pytest.raises(RuntimeError, match='killed by signal: Terminated'):
        for _ in range(50):
            os.kill(worker.pid, signal.SIGTERM)
            time.sleep(0.1)


FAILS_WITH_A_WORKER = '''
import functools, sys
from torch.utils.data import DataLoader
from mmseg_spwc.datasets.loading import steady_worker_init
batches = iter(DataLoader(range(9), num_workers=1, worker_init_fn=(
    functools.partial(steady_worker_init, num_workers=1, seed=5))))
next(batches)
sys.exit(3)
'''


def test_workers_do_not_survive_their_process():
    """Python ends them with one SIGTERM, and then it waits for them."""
    done = subprocess.run([sys.executable, '-c', FAILS_WITH_A_WORKER],
                          capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (3, '')
