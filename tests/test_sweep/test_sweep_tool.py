"""tools/sweep.py as a user types it, without Ray."""
import os
import subprocess
import sys

import pytest
from small_sweeps import ROOT, leaf, write_sweep


@pytest.fixture
def tool(tmp_path):
    """Run the tool where Ray is not installed."""
    (tmp_path / 'ray.py').write_text('raise ImportError')
    path = f'{tmp_path}:{ROOT}:{os.environ.get("PYTHONPATH", "")}'

    def call(*words):
        return subprocess.run(
            [sys.executable, ROOT / 'tools/sweep.py', *words], cwd=tmp_path,
            env=dict(os.environ, PYTHONPATH=path), capture_output=True,
            text=True, timeout=120)

    return call


def test_without_ray_one_sentence_and_a_command(tool, tmp_path):
    sweep = write_sweep(tmp_path / 's.py',
                        methods=dict(finetune=leaf('finetune')))
    done = tool(sweep)
    assert done.returncode == 2 and done.stdout == ''
    assert done.stderr == (
        "error: Sweeps run on Ray, which is not installed: pip install "
        "'ray>=2.9', or pip install -e .[ray].\n")
    assert not (tmp_path / 'sweep').exists()


def test_a_dry_run_needs_no_ray_and_writes_nothing(tool, tmp_path):
    sweep = write_sweep(tmp_path / 's.py',
                        methods=dict(finetune=leaf('finetune')))
    done = tool(sweep, '--dry-run')
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('finetune_2_seed0 ')
    assert not (tmp_path / 'sweep').exists()


def test_a_misspelt_name_is_told_in_one_sentence(tool, tmp_path):
    sweep = write_sweep(tmp_path / 's.py', seed=[1],
                        methods=dict(finetune=leaf('finetune')))
    done = tool(sweep)
    assert done.returncode == 2 and 'Traceback' not in done.stderr
    assert "Unknown name 'seed'" in done.stderr
    assert "did you mean 'seeds'" in done.stderr
