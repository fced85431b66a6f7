"""What a person sees of the demo, on a terminal and through a pipe."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHORT = [
    'crop_size=48', 'total_batch_size=8', 'train_cfg.max_epochs=2',
    'schedule.later.train_cfg.max_epochs=2',
    'train_dataloader.num_workers=0', 'test_dataloader.num_workers=0',
    'train_dataloader.dataset.generate=None',
    'test_dataloader.dataset.generate=None'
]


@pytest.fixture
def command(shapes_root, tmp_path):
    return [
        str(ROOT / 'tools/run_demo.py'), '--work-dir', str(tmp_path / 'demo'),
        '--cfg-options', f'data_root={shapes_root}',
        f'cache_dir={tmp_path}', *SHORT
    ]


@pytest.mark.slow
def test_terminal_shows_one_display(command):
    pexpect = pytest.importorskip('pexpect')
    pyte = pytest.importorskip('pyte')
    screen = pyte.Screen(120, 40)
    stream = pyte.Stream(screen)
    child = pexpect.spawn(
        sys.executable, command, dimensions=(40, 120), encoding='utf-8',
        timeout=900, env=dict(os.environ, TERM='xterm-256color'))
    seen, lines = set(), set()
    while True:
        try:
            stream.feed(child.read_nonblocking(65536, timeout=900))
        except pexpect.EOF:
            break
        shown = [line.rstrip() for line in screen.display if line.strip()]
        lines.update(shown)
        seen.update(re.findall(r'step \d \(\d/\d\)', '\n'.join(shown)))
        # never more than one bar of the step and one of the sequence
        assert sum('━' in line for line in shown) <= 2
    child.close()
    assert child.exitstatus == 0
    assert seen and seen <= {f'step {i} ({i + 1}/5)' for i in range(5)}
    text = '\n'.join(lines)
    assert 'finished steps' in text and 'loss' in text and 'left' in text
    assert 'mmengine - INFO' not in text and 'Runtime environment' not in text
    last = '\n'.join(screen.display)
    assert 'report:' in last and 'RCIL' in last
    assert not any('━' in line for line in screen.display)  # bars are gone


@pytest.mark.slow
def test_pipe_gets_short_plain_lines(command):
    done = subprocess.run([sys.executable, *command], capture_output=True,
                          text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert '\x1b' not in done.stdout and '\r' not in done.stdout
    lines = done.stdout.splitlines()
    assert len(lines) < 150
    assert sum(line.startswith('Step ') for line in lines) == 15
    assert done.stderr.strip() == ''
