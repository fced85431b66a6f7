"""A sequence that is stopped by a signal or a full disk loses nothing."""
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.hooks import Hook

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.errors import NonFiniteError, Preempted, StorageError
from mmseg_spwc.record import Record
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.runtime.checkpoint import load_step

TRAIN = Path(__file__).resolve().parents[2] / 'tools' / 'train.py'
CAN_MOUNT = shutil.which('unshare') and subprocess.run(
    ['unshare', '-rm', 'mount', '-t', 'tmpfs', 'none', '/mnt'],
    capture_output=True).returncode == 0


@HOOKS.register_module(force=True)
class SignalAt(Hook):
    """Sends this process a signal once in one step.

    Args:
        step (int): The step.
        point (str): The place in time, as hooks name it.
        at (int): The iteration, from 0; of the step, or of the scoring.
        number (int): The signal.
    """

    def __init__(self, step, point, at, number):
        setattr(self, point, self._send)
        self.training = point == 'after_train_iter'
        self.step = step
        self.at = at
        self.number = number

    def _send(self, runner, batch_idx, data_batch=None, outputs=None):
        now = runner.iter if self.training else batch_idx
        if runner.work_dir.endswith(f'step_{self.step:02d}') and \
                now == self.at:
            os.kill(os.getpid(), self.number)


@pytest.fixture
def config(tiny_config, tmp_path):

    def make(name, **options):
        return tiny_config(**{
            'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
            'train_cfg.max_epochs': 1,
            'schedule.later.train_cfg.max_epochs': 1,
            'model.decode_head.dropout_ratio': 0.3,
            'work_dir': str(tmp_path / name), **options})

    return make


def weights(cfg):
    return load_step(f'{cfg.work_dir}/step_01/final.pth')['state_dict']


def scores(cfg):
    return [{k: v for k, v in step.items() if k != 'cost'}
            for step in Record.read(cfg.work_dir).steps]


def test_signals_at_all_times(config, capsys):
    """Inside an epoch, while scoring, and inside an epoch again."""
    whole = config('whole')
    ContinualRunner(whole).train()
    for point, number, told, left in (
        ('after_train_iter', signal.SIGTERM, 'iteration 3 of', 'iter_3.pth'),
        ('after_test_iter', signal.SIGINT, 'scored', 'epoch_1.pth')):
        cfg = config('stopped', resume=True, custom_hooks=[dict(
            type='mmseg_spwc.SignalAt', step=1, point=point, number=number,
            at=2 if 'train' in point else 0)])
        with pytest.raises(Preempted, match=told):
            ContinualRunner(cfg).train()
        step = Path(cfg.work_dir, 'step_01')
        assert (step / left).exists()
        assert not Path(cfg.work_dir, 'run.lock').exists()
        assert Record.read(cfg.work_dir).finished_steps == [0]
    cfg = config('stopped', resume=True)
    capsys.readouterr()
    ContinualRunner(cfg).train()
    said = capsys.readouterr().out
    assert 'The run goes on after step 0.' in said
    assert f'The step goes on from {step}/epoch_1.pth' in ' '.join(
        said.split())
    a, b = weights(whole), weights(cfg)
    assert all(torch.equal(a[key], b[key]) for key in a)
    assert scores(whole) == scores(cfg)
    assert [p.name for p in step.glob('*.pth')] == ['final.pth']


def test_renewed_priorities_live_on(config):
    """A resumed step goes on with the scores it had last measured."""
    method = Config.fromfile('configs/_base_/methods/mib.py').method
    whole, cut, again = (config(name, **{
        'method': method, 'resume': True,
        'schedule.later.train_cfg.max_epochs': 2,
        'self_paced': dict(rule='linear', mu=1., update=dict(epochs=1))})
        for name in ('whole', 'cut', 'cut'))
    ContinualRunner(whole).train()
    for other in (cut, again):
        other.start_from = f'{whole.work_dir}/step_00/final.pth'
    length = Record.read(whole.work_dir).step(1)['images']['train'] // 8
    cut.custom_hooks = [dict(
        type='mmseg_spwc.SignalAt', step=1, point='after_train_iter',
        number=signal.SIGTERM, at=length + 1)]
    with pytest.raises(Preempted):
        ContinualRunner(cut).train()
    ContinualRunner(again).train()
    a, b = weights(whole), weights(again)
    assert all(torch.equal(a[key], b[key]) for key in a)


@pytest.mark.parametrize('name', ['mib_ewf', 'ssul_m', *(
    pytest.param(name, marks=pytest.mark.slow) for name in (
        'dft', 'dkd_m', 'lgkd', 'mib_augm', 'mib_nest', 'plop_ewf',
        'rcil_ewf', 'reminder', 'sdr', 'ucd'))])
def test_methods_go_on_as_if_nothing_had_been(config, name):
    """With what they keep beside the weights: memory, prototypes, fusion."""
    method = Config.fromfile(f'configs/_base_/methods/{name}.py').method
    whole, cut, again = (config(place, method=method, resume=True)
                         for place in ('whole', 'cut', 'cut'))
    ContinualRunner(whole).train()
    cut.custom_hooks = [dict(
        type='mmseg_spwc.SignalAt', step=1, point='after_train_iter',
        number=signal.SIGTERM, at=2)]
    for other in (cut, again):
        other.start_from = f'{whole.work_dir}/step_00/final.pth'
    with pytest.raises(Preempted):
        ContinualRunner(cut).train()
    ContinualRunner(again).train()
    a, b = weights(whole), weights(again)
    assert all(torch.equal(a[key], b[key]) for key in a)
    for one, other in zip(scores(whole)[1:], scores(again)[1:], strict=True):
        assert one == other


def test_nan_keeps_the_last_checkpoint(config):
    cfg = config('nan', **{'optim_wrapper.optimizer.lr': 1e30,
                           'optim_wrapper.clip_grad': None})
    with pytest.raises(NonFiniteError, match=r'begins in .*jpg'):
        ContinualRunner(cfg).train()
    for path in Path(cfg.work_dir).rglob('*.pth'):
        content = torch.load(path, weights_only=True)['state_dict']
        assert all(v.isfinite().all() for v in content.values())


@pytest.mark.skipif(not CAN_MOUNT, reason='cannot mount a small tmpfs')
def test_a_full_disk(config, tmp_path):
    """A disk with room for the first steps of a run only."""
    cfg = config('x', **{'train_cfg.max_epochs': 2})
    cfg.default_hooks.checkpoint.max_keep_ckpts = 20
    path = tmp_path / 'full.py'
    cfg.dump(path)
    disk = tmp_path / 'disk'
    disk.mkdir()
    script = (
        f'mount -t tmpfs -o size=4m none {disk}\n'
        f'{sys.executable} {TRAIN} {path} --work-dir {disk}/run\n'
        'code=$?\n'
        f'cp -r {disk}/run {tmp_path}/rescued\n'
        'exit $code\n')
    done = subprocess.run(['unshare', '-rm', 'sh', '-c', script],
                          capture_output=True, text=True)
    assert done.returncode == StorageError.exit_code, done.stderr
    assert done.stderr.strip().splitlines()[-1].startswith(
        'error: Cannot write')
    rescued = tmp_path / 'rescued'
    saved = list(rescued.rglob('*.pth'))
    assert saved and all(torch.load(p, weights_only=True) for p in saved)
    assert not list(rescued.rglob('.*.pth.*'))
    assert not (rescued / 'run.lock').exists()
