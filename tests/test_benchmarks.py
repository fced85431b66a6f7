"""The benchmarks can be run: `make bench` takes them all."""
import argparse
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scripts import load

FOLDER = Path(__file__).parents[1] / 'benchmarks'


def run(name, *options, rows=None, peers='/nowhere'):
    env = {**os.environ, 'MMSEG_SPWC_BENCH_PEERS': str(peers)}
    if rows:
        env['MMSEG_SPWC_BENCH_ROWS'] = str(rows)
    done = subprocess.run(
        [sys.executable, str(FOLDER / name), *options],
        capture_output=True, text=True, cwd=FOLDER.parent, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def frame(monkeypatch):
    """`_sides`, and `__main__` under a name of its own."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import _sides
    return _sides, load('benchmarks/__main__.py')


@pytest.mark.parametrize('name, options, ratios', [
    ('penalty.py', ['--tasks', '2', '--repeats', '1'], 2),
    ('importance.py', ['--samples', '32', '--batch', '32'], 4),
    ('label_map.py', [], 1),
    pytest.param('voc_pipeline.py', ['--images', '4', '--repeats', '1'], 5,
                 marks=pytest.mark.slow),
    ('many_tasks.py', ['--tasks', '2', '40', '--repeats', '1'], 7),
    pytest.param('rcil_memory.py', [], 4, marks=pytest.mark.slow),
])
def test_hands_on_its_rows(name, options, ratios, tmp_path):
    rows = tmp_path / 'rows.jsonl'
    said = run(name, *options, rows=rows)
    found = [json.loads(line)['row']
             for line in rows.read_text().splitlines()]
    assert len(found) == ratios
    for row in found:
        assert row['what'] in said and row['name'] in said
        assert row['ours'] > 0 and row['rival'] > 0


def test_what_this_machine_cannot_run_is_left_out(tmp_path):
    rows = tmp_path / 'rows.jsonl'
    said = run('ewc_step.py', '--tasks', '1', '--repeats', '1', rows=rows)
    if importlib.util.find_spec('avalanche') is None:
        assert said.startswith('Left out: Avalanche is not installed (make')
        assert json.loads(rows.read_text())['note'] == said.strip()


@pytest.fixture
def whole_runs(frame):
    import permuted_mnist
    yield permuted_mnist
    permuted_mnist.WATCH.tasks.clear()


def test_toolkit_and_bare_loop_run_one_experiment(whole_runs, tmp_path):
    from _digits import write_digits
    write_digits(tmp_path, 3000)
    args = argparse.Namespace(data_root=None, tasks=2)
    found = {}
    for side in (whole_runs.toolkit, whole_runs.bare):
        whole_runs.WATCH.tasks.clear()
        cfg = whole_runs.config(args, str(tmp_path))
        found[side.__name__] = whole_runs.run_side(side, cfg)
    ours, bare = found['toolkit'], found['bare']
    assert abs(ours['accuracy'] - bare['accuracy']) < 15
    assert bare['accuracy'] > 40
    rows = {row.what: row for row in whole_runs.rows(
        ours, bare, 'bare PyTorch loop', 1.15, 'small')}
    assert set(rows) == {
        'whole run, CPU time', 'whole run, time on the wall',
        'iteration in task 1', 'iteration in task 2', 'peak memory',
        'final accuracy'}
    assert all(row.ours > 0 and row.rival > 0 for row in rows.values())


@pytest.mark.slow
def test_a_whole_run_from_the_command_line(tmp_path):
    rows = tmp_path / 'rows.jsonl'
    said = run('permuted_mnist.py', '--tasks', '2', '--images', '2000',
               rows=rows)
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    assert sum('row' in line for line in lines) in (6, 12)
    assert 'generated digits' in said


def test_our_side_of_an_iteration_runs(frame, monkeypatch):
    import ewc_step
    import torch
    model = ewc_step.network()
    monkeypatch.setattr(ewc_step, 'network', lambda: model)
    tasks = ewc_step.make_tasks(2)
    before = model[0].weight.clone()
    ewc_step.ours(tasks, torch.rand(20, 1024), torch.arange(20) % 10)()
    assert not torch.equal(model[0].weight, before)


def test_a_step_of_rcil_has_one_value_however_it_is_computed(frame):
    import rcil_step
    import torch
    leaf = rcil_step.NETWORKS['mobilenetv2'][0]
    student = rcil_step.build(leaf, {})
    light = rcil_step.build(leaf, rcil_step.LIGHT)
    data = rcil_step.batch(2, 64, sum(student.channels))
    values = []
    for side, model in ((rcil_step.step, student), (rcil_step.step, light),
                        (rcil_step.direct, student)):
        torch.manual_seed(1)  # the same channels are drawn
        values.append(side(model, *data).item())
    assert values[0] == pytest.approx(values[2], rel=1e-4)
    assert values[1] == pytest.approx(values[2], rel=0.02)


def test_a_ratio_above_its_aim_is_said(frame):
    sides, _ = frame
    row = sides.Row('step', 2.4, 2., 'loop', aim=1.15)
    assert row.ratio == pytest.approx(1.2)
    assert '(missed)' in row.cells()[4]
    assert '(missed)' not in sides.Row('step', 2.2, 2., 'loop', 1.15
                                       ).cells()[4]
    rate = sides.Row('images', 40., 20., 'loop', unit='/s',
                     more_is_better=True)
    assert rate.ratio == pytest.approx(.5)


def test_the_table_goes_between_its_markers(frame, tmp_path):
    sides, main = frame
    rows = [sides.Row('step', 1., 4., 'loop', 1 / 3, 'small'),
            sides.Row('run', 3., 2., 'loop')]
    page, chart = tmp_path / 'page.md', tmp_path / 'chart.png'
    page.write_text(f'# Before\n{main.BEGIN}\nold\n{main.END}\nAfter\n')
    for _ in range(2):  # a second time replaces the first
        main.write_page(rows, ['`x.py`: Left out: no data.'], page)
    text = page.read_text()
    assert text.startswith('# Before\n') and text.endswith('\nAfter\n')
    assert 'old' not in text and text.count('0.250') == 1
    assert '- `x.py`: Left out: no data.' in text
    main.draw(rows, chart)
    assert chart.stat().st_size > 1000


def test_the_page_has_the_markers(frame):
    _, main = frame
    text = main.PAGE.read_text()
    assert text.index(main.BEGIN) < text.index(main.END)


def test_generated_digits_are_read_as_mnist(frame, tmp_path):
    from _digits import write_digits

    from mmseg_spwc.datasets.images.idx import read_idx
    write_digits(tmp_path, 50)
    images = read_idx(tmp_path / 'train-images-idx3-ubyte')
    labels = read_idx(tmp_path / 't10k-labels-idx1-ubyte')
    assert images.shape == (50, 28, 28) and labels.shape == (10, )
    assert images.max() > 200 and np.unique(labels).max() <= 9
