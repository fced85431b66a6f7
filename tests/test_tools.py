"""The command lines, as a user types them."""
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DEMO = 'configs/demo/finetune_shapes-6-1.py'


def run(*arguments):
    return subprocess.run([sys.executable, *map(str, arguments)], cwd=ROOT,
                          capture_output=True, text=True, timeout=120)


def test_print_config_shows_what_a_step_runs():
    done = run('tools/misc/print_config.py', DEMO, '--step', 1,
               '--cfg-options', 'data_root=/x')
    assert done.returncode == 0, done.stderr
    assert "data_root='/x'" in done.stdout
    assert 'mmseg_spwc.ContinualSegDataset' in done.stdout
    assert 'scenario = ' not in done.stdout


@pytest.mark.parametrize('arguments, message', [
    (['tools/train.py', 'none.py'], 'no config at none.py'),
    (['tools/train.py', DEMO, '--cfg-options', 'scenario.name=7-4'], '7-4'),
    (['tools/train.py', DEMO, '--cfg-options', 'methd.name=x'], 'method'),
    (['tools/train.py', DEMO, '--launcher', 'slurm'], 'torchrun'),
    (['tools/test.py', DEMO, 'none.pth'], 'no checkpoint at none.pth'),
    (['tools/misc/print_config.py', DEMO, '--step', '9'], 'step'),
])
def test_mistakes_get_one_sentence(arguments, message):
    done = run(*arguments)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert 'Traceback' not in done.stderr
