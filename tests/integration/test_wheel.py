"""The wheel alone trains a user's config, far from any checkout."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = shutil.ignore_patterns(
    '.git', '.venv*', 'build', 'work_dirs', '*.egg-info', '__pycache__')
CONFIG = """
_base_ = 'mmseg_spwc::demo/rcil-spwc_shapes-6-1.py'
data_root = {root!r}
crop_size = 48
total_batch_size = 8
scenario = dict(name=None, steps=[[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]])
train_cfg = dict(max_epochs=1)
schedule = dict(later=dict(train_cfg=dict(max_epochs=1)))
self_paced = dict(k=3)
train_dataloader = dict(
    num_workers=0, persistent_workers=False, dataset=dict(generate=None))
test_dataloader = dict(
    num_workers=0, persistent_workers=False, dataset=dict(generate=None))
"""


def run(*command: str, **kwargs) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, **kwargs)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope='module')
def site(tmp_path_factory) -> Path:
    """A folder that holds the installed wheel and nothing else."""
    folder = tmp_path_factory.mktemp('site')
    pip = (sys.executable, '-m', 'pip')
    source = folder / 'source'  # a build leaves files: not in the checkout
    shutil.copytree(ROOT, source, symlinks=True, ignore=LEFT_OUT)
    run(*pip, 'wheel', '-q', '--no-deps', '--no-build-isolation', '-w',
        str(folder), str(source))
    wheel, = folder.glob('*.whl')
    run(*pip, 'install', '-q', '--no-deps', '--target', str(folder / 'site'),
        str(wheel))
    return folder / 'site'


def test_wheel_trains_a_users_config(site, shapes_root, tmp_path):
    (tmp_path / 'mine.py').write_text(CONFIG.format(root=str(shapes_root)))
    env = dict(os.environ, PYTHONPATH=str(site))
    where = run(sys.executable, '-c',
                'import mmseg_spwc; print(mmseg_spwc.__file__)',
                cwd=tmp_path, env=env)
    assert Path(where.strip()).is_relative_to(site)
    run(str(site / 'bin' / 'mmseg-spwc'), 'train', 'mine.py', '--work-dir',
        'run', cwd=tmp_path, env=env)
    record = json.loads((tmp_path / 'run' / 'record.json').read_text())
    assert record['status'] == 'finished'
    assert [entry['step'] for entry in record['steps']] == [0, 1]
    out = run(str(site / 'bin' / 'mmseg-spwc'), 'report', 'run', '-o',
              'page.html', '--images', '0', cwd=tmp_path, env=env)
    assert 'page.html' in out and (tmp_path / 'page.html').stat().st_size


def test_module_form_names_the_commands(site, tmp_path):
    env = dict(os.environ, PYTHONPATH=str(site))
    out = run(sys.executable, '-m', 'mmseg_spwc.cli', cwd=tmp_path, env=env)
    assert 'train' in out and 'demo' in out
    wrong = subprocess.run(
        [sys.executable, '-m', 'mmseg_spwc.cli', 'trian'], cwd=tmp_path,
        env=env, capture_output=True, text=True)
    assert wrong.returncode == 1 and "no command 'trian'" in wrong.stderr
