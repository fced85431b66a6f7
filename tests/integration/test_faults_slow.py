"""Runs that are killed again and again end as if nothing had happened."""
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from digit_runs import (
    ROOT,
    digits,
    same,
    train,
    weights,
)
from mmengine.config import Config

from mmseg_spwc.record import Record

pytestmark = pytest.mark.slow
KILLS = 20
SCRIPT = ROOT / 'tools' / 'dist_train.sh'
KILLER = '''
import os, signal
from mmengine.hooks import Hook
from mmseg_spwc.registry import HOOKS

@HOOKS.register_module()
class KillOneRank(Hook):
    """Kills one rank once, when a step has come to an iteration."""

    def __init__(self, mark, rank, step, at):
        self.mark, self.rank, self.step, self.at = mark, rank, step, at

    def after_train_iter(self, runner, *args, **kwargs):
        if (runner.rank == self.rank and runner.iter == self.at
                and runner.work_dir.endswith(f'step_{self.step:02d}')
                and not os.path.exists(self.mark)):
            open(self.mark, 'w').close()
            os.kill(os.getpid(), signal.SIGKILL)
'''


@pytest.fixture(params=['rcil-spwc', 'ewc-spwc-protected', 'si'])
def make(request, config_in, tmp_path):
    """Configs of one sequence of three steps, by the name of their run."""

    def shapes(name):
        cfg = config_in(tmp_path / name, **{
            'model.decode_head.dropout_ratio': 0.3})
        for fragment in ('rcil', 'spwc'):
            for key, value in Config.fromfile(
                    ROOT / f'configs/_base_/methods/{fragment}.py').items():
                cfg[key] = value
        cfg.experiment_name = f'{tmp_path}/{name}'
        return cfg

    def tasks(name):
        return digits(tmp_path / name, request.param, **{
            'model.backbone.dropout': 0.2,
            'default_hooks.checkpoint.interval': 1})

    def config(name):
        cfg = (shapes if request.param == 'rcil-spwc' else tasks)(name)
        cfg.resume = True
        return cfg

    return config


def live(cfg, prepare=None) -> multiprocessing.Process:
    """Train in a fork, which ``prepare()`` may be about to end."""

    def life():
        log = os.open(f'{cfg.work_dir}.log', os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        if prepare is not None:
            prepare()
        train(cfg)

    Path(cfg.work_dir).parent.mkdir(parents=True, exist_ok=True)
    process = multiprocessing.get_context('fork').Process(target=life)
    process.start()
    return process


def was_killed(process, cfg) -> bool:
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL), Path(
        f'{cfg.work_dir}.log').read_text()[-3000:]
    return process.exitcode != 0


def assert_equal(a: Config, b: Config) -> None:
    """Bit-identical weights, and one record but for costs and places."""
    for step in range(3):
        assert same(weights(a, step), weights(b, step)), step
    assert content(a) == content(b)
    assert not list(Path(b.work_dir).rglob('.*'))  # nothing half written
    assert not list(Path(b.work_dir).glob('step_*/epoch_*.pth'))
    tables = [Path(cfg.work_dir, 'results.csv').read_text().splitlines()
              for cfg in (a, b)]
    assert len(tables[0]) == len(tables[1])


def content(cfg: Config) -> dict:
    found = json.loads(Path(cfg.work_dir, 'record.json').read_text())
    for entry in found['steps']:
        del entry['cost']
    return {key: found[key] for key in (
        'problem', 'method', 'status', 'scenario', 'steps', 'summary')}


def test_kills_at_random_moments(make):
    """Kill 20 times; a run that gets through is followed by another."""
    whole, dice = make('whole'), random.Random(0)
    began = time.monotonic()
    assert not was_killed(live(whole), whole)
    longest = 0.6 * (time.monotonic() - began)
    kills = runs = 0
    while kills < KILLS:
        cfg = make(f'broken_{runs}')
        dead = True
        while dead:
            process = live(cfg)
            if kills < KILLS:
                process.join(dice.uniform(0.1, 1) * longest)
                process.kill()
            dead = was_killed(process, cfg)
            kills += dead
        longest /= 2  # it came through: kill the next one sooner
        assert_equal(whole, cfg)
        runs += 1


def suicide(done: set, note: Path, work_dir: str):
    """Let a process end right after it has changed a file in a new way.

    Args:
        done (set): Changes that were survived already.
        note (Path): Where the change is written down before the end.
        work_dir (str): Changes outside of it do not count.
    """

    def watch(name):
        change = getattr(os, name)

        def changed(*args, **kwargs):
            change(*args, **kwargs)
            path = os.path.relpath(args[-1], work_dir)
            steps = len(list(Path(work_dir).glob('step_*/final.pth')))
            key = f'{name} {path} {steps}'.replace(str(os.getpid()), 'PID')
            if not path.startswith('..') and key not in done:
                note.write_text(key)
                os.kill(os.getpid(), signal.SIGKILL)

        setattr(os, name, changed)

    for name in ('replace', 'unlink'):
        watch(name)


def test_kills_between_all_files(make, tmp_path):
    """Killed once after each rename and removal of the whole sequence."""
    whole, cfg = make('whole'), make('broken')
    assert not was_killed(live(whole), whole)
    note, done = tmp_path / 'note', set()
    while was_killed(live(cfg, lambda: suicide(
            done, note, cfg.work_dir)), cfg):
        assert note.read_text() not in done
        done.add(note.read_text())
    assert_equal(whole, cfg)
    for step in range(3):
        for name in ('final.pth', 'epoch_1.pth', 'epoch_2.pth'):
            assert f'replace step_{step:02d}/{name} ' in ' '.join(done)
        assert f'replace record.json {step + 1}' in done
    assert 'replace results.csv 3' in done


@pytest.mark.parametrize('rank', [0, 1])
def test_one_rank_of_two_is_killed(tmp_path, rank):
    (tmp_path / 'killer.py').write_text(KILLER)
    environment = dict(os.environ, PYTHON=sys.executable,
                       PYTHONPATH=str(tmp_path), PORT=str(29600 + rank))
    mark = tmp_path / 'mark'
    cfgs = []
    for name in ('whole', 'broken'):
        cfg = digits(tmp_path / name, 'ewc-spwc-protected', **{
            'model.backbone.dropout': 0.2,
            'default_hooks.checkpoint.interval': 1,
            'custom_imports.imports': ['mmseg_spwc.classification', 'killer'],
            'custom_hooks': [dict(
                type='mmseg_spwc.KillOneRank', mark=str(mark), rank=rank,
                step=1, at=25)] if name == 'broken' else []})
        (tmp_path / f'{name}.py').write_text('\n'.join(
            f'{key} = {value!r}' for key, value in cfg.to_dict().items()))
        cfgs.append(cfg)

    def run(name):
        return subprocess.run(
            [str(SCRIPT), str(tmp_path / f'{name}.py'), '2', '--resume',
             '--work-dir', str(tmp_path / name)],
            env=environment, capture_output=True, text=True, timeout=300)

    done = run('whole')
    assert done.returncode == 0, done.stderr[-3000:]
    assert run('broken').returncode != 0
    assert mark.exists()
    assert Record.read(tmp_path / 'broken').finished_steps == [0]
    done = run('broken')
    assert done.returncode == 0, done.stderr[-3000:]
    assert_equal(*cfgs)
