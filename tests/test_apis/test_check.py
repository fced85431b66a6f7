"""A run is checked and planned before it is trained."""
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mmengine.config import Config

from mmseg_spwc.apis.check import check_run, plan_table
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.engine.footprint import memory_sentence
from mmseg_spwc.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
DIGITS = 'configs/classification/ewc/ewc_mlp_permuted-digits.py'


def test_the_plan_of_every_step_is_a_line(tiny_config):
    cfg = tiny_config()
    header, *lines, empty, memory = check_run(cfg).splitlines()
    assert header.split() == ['step', 'train', 'heldout', 'test',
                              'iterations', 'time', 'memory', 'learns']
    record, plan = ContinualRunner(cfg).check()
    for step, line in enumerate(lines):
        found = line.split()
        assert found[:5] == [str(n) for n in (
            step, *plan.images[step].values(), plan.iterations[step])]
        assert found[5:7] == ['-', '-']
    assert lines[0].endswith('background, disc, square, triangle, star')
    assert not empty and memory == memory_sentence(cfg)
    assert not Path(cfg.work_dir).exists()


def test_finished_steps_tell_time_and_memory(tiny_config):
    runner = ContinualRunner(tiny_config())
    record, plan = runner.check()
    record.steps.append(dict(step=0, cost=dict(
        wall_time=plan.iterations[0] * 60., peak_memory=3 * 2**20)))
    _, first, second, _ = plan_table(
        plan, runner.scenario, [], record).splitlines()
    assert first.split()[5:] == [f'0:{plan.iterations[0]:02d}:00', '3', 'MiB']
    assert second.split()[5:] == [f'~0:{plan.iterations[1]:02d}:00', '-']


def test_an_image_that_ends_early_is_named(tiny_config, shapes_root,
                                           tmp_path):
    root = shutil.copytree(shapes_root, tmp_path / 'shapes')
    broken = sorted((root / 'JPEGImages').glob('*.jpg'))[0]
    broken.write_bytes(broken.read_bytes()[:-200])
    with pytest.raises(ConfigError, match='1 of .* images cannot be read: '
                       f'{broken} .*truncated'):
        check_run(tiny_config(data_root=str(root)))


def test_images_in_memory_have_a_plan_too():
    cfg = Config.fromfile(ROOT / DIGITS)
    cfg.work_dir = 'none'
    cfg.scenario.name = '2'
    assert check_run(cfg).splitlines()[2].split()[0] == '1'


def test_the_command_ends_with_an_exit_code(tmp_path):
    command = [sys.executable, ROOT / 'tools/train.py', ROOT / DIGITS,
               '--check', '--work-dir', tmp_path / 'run', '--cfg-options']
    done = subprocess.run([*command, 'scenario.name=2'], capture_output=True,
                          text=True)
    assert done.returncode == 0 and 'learns' in done.stdout
    assert not (tmp_path / 'run').exists()
    done = subprocess.run([*command, 'total_batch_size=100000'],
                          capture_output=True, text=True)
    assert done.returncode == 2 and 'fewer than the total' in done.stderr
