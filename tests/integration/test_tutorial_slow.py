"""The tutorials run from top to bottom, and show what they say."""
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from mmengine.config import Config
from test_publish import ALONE

from mmseg_spwc.record import Record

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_first_sequence(tmp_path):
    nbclient = pytest.importorskip('nbclient')
    nbformat = pytest.importorskip('nbformat')
    pytest.importorskip('ipykernel')
    notebook = nbformat.read(
        ROOT / 'docs/tutorials/first_sequence.ipynb', as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=900,
        resources=dict(metadata=dict(path=str(tmp_path)))).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == 'code']
    assert all(cell.outputs for cell in code)
    shown = [output.get('data', {}) for output in code[-1].outputs]
    assert any('image/png' in data for data in shown)
    table = ''.join(output.get('text', '') for output in code[-1].outputs)
    assert all(name in table for name in ('Finetune', 'MiB', 'Drift'))


@pytest.mark.slow
def test_keep_learning(tmp_path):
    """Every block, in its order; what does not name us runs without us."""
    (tmp_path / 'alone').mkdir()
    (tmp_path / 'alone/sitecustomize.py').write_text(ALONE)
    (tmp_path / 'bin').mkdir()
    command = tmp_path / 'bin/mmseg-spwc'
    command.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m mmseg_spwc.cli '
        '"$@"\n')
    command.chmod(0o755)
    text = (ROOT / 'docs/tutorials/keep_learning.md').read_text()
    said = ''
    for kind, block in re.findall(r'```(python|sh)\n(.*?)```', text, re.S):
        if kind == 'python':
            name = re.match(r'# (\w+\.py)\n', block)[1]
            (tmp_path / name).write_text(block)
            continue
        for line in block.splitlines():
            said += run(line, tmp_path)
    assert Record.read(tmp_path / 'work_dirs/arrows').finished_steps == [
        0, 1, 2]
    assert "'star', 'arrow', 'heart']" in said
    assert (tmp_path / 'arrows.html').is_file()
    written = (tmp_path / 'arrows.py').read_text()
    assert len([line for line in written.splitlines()
                if not line.startswith('#')]) <= 20
    assert Config.fromfile(tmp_path / 'arrows.py').scenario.steps[1].data


def run(line: str, folder: Path) -> str:
    """A line of a shell; a program of plain mmseg cannot import us."""
    program, *words = shlex.split(line)
    ours = program == 'mmseg-spwc' or any(
        'mmseg_spwc' in (folder / word).read_text() for word in words
        if word.endswith('.py') and (folder / word).is_file())
    if program == 'python':
        program = sys.executable
    done = subprocess.run(
        [program, *words], cwd=folder, capture_output=True, text=True,
        env=dict(os.environ,
                 PATH=f'{folder / "bin"}:{os.environ["PATH"]}',
                 PYTHONPATH=str(ROOT if ours else folder / 'alone')))
    assert done.returncode == 0, f'{line}\n{done.stderr[-3000:]}'
    return done.stdout
