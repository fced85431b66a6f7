"""The command lines, as a user types them."""
import os
import subprocess
import sys
from pathlib import Path

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


VOC = 'configs/mib/mib_deeplabv3-r101-d16_voc12aug-512x512.py'


def test_the_scenario_is_chosen_on_the_command_line():
    done = run('tools/misc/print_config.py', VOC, '--scenario', '10-1',
               '--setting', 'disjoint', '--step', 10)
    assert done.returncode == 0, done.stderr
    assert "setting='disjoint'" in done.stdout
    assert 'num_classes=21' in done.stdout
    assert f"work_dir = 'work_dirs/{Path(VOC).stem}/10-1-disjoint/step_10'" \
        in done.stdout


def test_a_mistake_ends_the_process_with_its_code():
    """Others are in the table, tests/integration/wrong_commands.py."""
    done = run('tools/train.py', 'none.py')
    assert done.returncode == 2, done.stderr
    assert 'no config at none.py' in done.stderr
    assert 'Traceback' not in done.stderr


def test_a_missing_package_is_named_before_it_is_used(tmp_path):
    """An environment without MMSegmentation's metadata."""
    (tmp_path / 'sitecustomize.py').write_text(
        'import importlib.metadata as m\n'
        'real = m.version\n'
        'def version(name):\n'
        '    if name == "mmsegmentation":\n'
        '        raise m.PackageNotFoundError(name)\n'
        '    return real(name)\n'
        'm.version = version\n')
    done = subprocess.run(
        [sys.executable, 'tools/train.py', DEMO], cwd=ROOT, text=True,
        env=dict(os.environ, PYTHONPATH=str(tmp_path)), capture_output=True,
        timeout=120)
    assert done.returncode != 0
    assert "pip install 'mmsegmentation>=1.2.0,<2.0'" in done.stderr
