"""A killed run of tasks goes on as if nothing had happened."""
import json
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from digit_runs import (
    LEAVES,
    ROOT,
    digits,
    same,
    train,
    weights,
)
from mmengine.hooks import Hook
from safetensors.torch import load_file

from mmseg_spwc.record import Record
from mmseg_spwc.registry import HOOKS

OPTIONS = {
    'scenario.name': '2',
    'train_cfg.max_epochs': 3,
    'model.backbone.dropout': 0.2,
    'default_hooks.checkpoint.interval': 1,
}
REPLAY = {'method.later.train_dataloader.dataset.replay.mix': 'append',
          'method.later.train_dataloader.dataset.replay.size': 60}
KILLED_AT = 43  # of 54 iterations, in the third epoch of the second task


@HOOKS.register_module(force=True)
class Kill(Hook):
    """Leaves the process no time for anything."""

    def after_train_iter(self, runner, batch_idx, data_batch=None,
                         outputs=None):
        if 'step_01' in runner.work_dir and runner.iter == KILLED_AT:
            os.kill(os.getpid(), signal.SIGKILL)


def without_cost(record: Record) -> tuple:
    steps = [{k: v for k, v in s.items() if k != 'cost'}
             for s in record.steps]
    return steps, record.content['summary']


@pytest.mark.parametrize('method, options', [
    ('si', {}), ('er', REPLAY), ('ewc-spwc-protected', {}), ('blip', {}),
    # renewed after the second epoch: what the first scores said is no guide
    ('ewc', dict(self_paced=dict(
        rule='linear', mu=3., update=dict(epochs=2))))])
def test_killed_within_a_task(tmp_path, method, options):
    options = {**OPTIONS, **options}
    whole, broken = (digits(tmp_path / name, method, **options)
                     for name in ('whole', 'broken'))
    train(whole)
    killed = digits(tmp_path / 'broken', method, **options,
                    custom_hooks=[dict(type='mmseg_spwc.Kill')])
    process = multiprocessing.get_context('fork').Process(
        target=train, args=(killed, ))
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL
    assert Record.read(broken.work_dir).finished_steps == [0]
    assert Path(broken.work_dir, 'step_01/epoch_2.pth').exists()
    broken.resume = True
    train(broken)
    for step in range(2):
        assert same(weights(whole, step), weights(broken, step))
    kept = sorted(Path(whole.work_dir).glob('consolidation/*'))
    assert len(kept) == (0 if method == 'er' else 2)
    for path in kept:
        again = Path(broken.work_dir, 'consolidation', path.name)
        assert same(load_file(path), load_file(again))
    assert without_cost(Record.read(whole.work_dir)) == without_cost(
        Record.read(broken.work_dir))


def test_the_tools_train_and_score(tmp_path):
    options = ['--work-dir', str(tmp_path / 'run'), '--cfg-options',
               'scenario.name=2', 'train_cfg.max_epochs=1',
               'model.backbone.hidden=(8,8)', 'model.head.in_channels=8']
    leaf = str(LEAVES['ewc'].relative_to(ROOT))

    def tool(name, *arguments):
        result = subprocess.run(
            [sys.executable, f'tools/{name}.py', leaf, *arguments, *options],
            cwd=ROOT, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return result.stdout

    tool('train', '--amp')
    record = Record.read(tmp_path / 'run')
    tool('test', str(tmp_path / 'run/step_01/final.pth'), '--out',
         str(tmp_path / 'scores.json'))
    scores = json.loads((tmp_path / 'scores.json').read_text())
    assert len(scores['accuracy_by_step']) == 2
    assert scores == {key: record.step(1)[key] for key in scores}
