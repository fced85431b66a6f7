"""A run that is killed and resumed equals one that was not."""
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from mmseg_spwc.record import Record
from mmseg_spwc.runtime.checkpoint import load_step

TRAIN = Path(__file__).resolve().parents[2] / 'tools' / 'train.py'


def command(cfg, work_dir, *options):
    path = Path(work_dir).with_suffix('.py')
    cfg.dump(path)
    return [sys.executable, str(TRAIN), str(path), '--work-dir',
            str(work_dir), *options]


def without_cost(record):
    steps = [{k: v for k, v in s.items() if k != 'cost'}
             for s in record.steps]
    return steps, record.content['summary']


@pytest.mark.parametrize('loop', ['epochs', 'iterations'])
def test_sigkill_in_the_last_step(tiny_config, tmp_path, loop):
    options = {'schedule.later.train_cfg.max_epochs': 6,
               'model.decode_head.dropout_ratio': 0.3}
    cfg = tiny_config(**options)
    if loop == 'iterations':
        cfg.train_cfg = dict(type='IterBasedTrainLoop', max_iters=12)
        cfg.schedule.later.train_cfg = dict(max_iters=60)
        cfg.train_dataloader.sampler.type = 'InfiniteSampler'
        cfg.default_hooks.checkpoint.update(by_epoch=False, interval=8)
        cfg.param_scheduler = dict(type='PolyLR', power=0.9, by_epoch=False)
    whole, broken = tmp_path / 'whole', tmp_path / 'broken'
    subprocess.run(command(cfg, whole), check=True, capture_output=True)

    log = tmp_path / 'broken.log'
    with log.open('w') as output:
        process = subprocess.Popen(
            command(cfg, broken), stdout=output, stderr=subprocess.STDOUT)
    mark = broken / 'step_02' / 'last_checkpoint'
    while not mark.exists():
        assert process.poll() is None, log.read_text()
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert Record.read(broken).finished_steps == [0, 1]

    subprocess.run(command(cfg, broken, '--resume'), check=True,
                   capture_output=True)
    for step in range(3):
        a, b = (load_step(run / f'step_{step:02d}' / 'final.pth')
                for run in (whole, broken))
        for key, value in a['state_dict'].items():
            assert torch.equal(value, b['state_dict'][key]), key
    assert without_cost(Record.read(whole)) == \
        without_cost(Record.read(broken))
