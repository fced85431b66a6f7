"""The benchmarks can be run: `make bench` takes them all."""
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / 'benchmarks'


def run(name, *options):
    done = subprocess.run(
        [sys.executable, str(FOLDER / name), *options],
        capture_output=True, text=True, cwd=FOLDER.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize('name, options', [
    ('penalty.py', ['--tasks', '2', '--repeats', '1']),
    ('importance.py', ['--samples', '32', '--batch', '32']),
    ('label_map.py', []),
])
def test_prints_a_ratio(name, options):
    assert 'ratio' in run(name, *options)


def test_what_this_machine_cannot_run_is_left_out(tmp_path):
    said = run('permuted_mnist.py', str(tmp_path / 'nowhere'))
    assert said.startswith('Left out: there is no MNIST at')
    said = run('ewc_step.py', '--tasks', '1', '--repeats', '1')
    assert 'Avalanche' in said or said.startswith('Left out: it needs')
