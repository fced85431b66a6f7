"""Every table of docs/results is what the runs kept there say."""
import json
import shlex
import sys
from argparse import ArgumentParser
from pathlib import Path

import pytest
from scripts import load as load_script

from mmseg_spwc.config.keys import check_keys, check_values
from mmseg_spwc.config.load import add_options, load_config
from mmseg_spwc.config.step import scenario_of
from mmseg_spwc.engine import step_config
from mmseg_spwc.selfpaced import SelfPacedChoice

FOLDER = Path(__file__).parents[1] / 'docs/results'


def load(name: str):
    return load_script(f'docs/results/{name}.py')


@pytest.fixture(scope='module')
def tool():
    return load('make_tables')


def test_tables_are_those_of_the_runs(tool):
    for page in tool.TABLES:
        path = FOLDER / f'{page}.md'
        assert path.read_text() == tool.written(page), (
            f'{path.name} is out of date: run python '
            'docs/results/make_tables.py')


def test_a_changed_run_changes_its_table(tool, tmp_path, monkeypatch):
    before = tool.shapes_seeds()
    for path in FOLDER.glob('*.csv'):
        text = path.read_text()
        if path.stem == 'shapes':
            lines = text.splitlines(keepends=True)
            row = next(i for i, line in enumerate(lines)
                       if line.startswith('MiB,1,'))
            cells = lines[row].split(',')
            cells[4] = '0.9999'
            lines[row] = ','.join(cells)
            text = ''.join(lines)
        (tmp_path / path.name).write_text(text)
    monkeypatch.setattr(sys.modules['runs'], 'HERE', tmp_path)
    assert tool.shapes_seeds() != before


@pytest.mark.parametrize('values, text', [
    ([], '-'), ([None], '-'), ([0.5], '50.0'), ([0.4, 0.6], '50.0 ± 10.0'),
    ([0.1, None, 0.2, 0.3], '20.0 ± 5.8')])
def test_an_error_is_the_standard_error_of_the_mean(tool, values, text):
    assert tool.estimate(values) == text


def test_records_are_small():
    records = list((FOLDER / 'records').rglob('*.json'))
    assert records
    for path in records:
        assert path.stat().st_size < 400_000
        content = json.loads(path.read_text())
        assert all(isinstance(run, dict) for run in (
            content['runs'] if path.parent.name == 'sweeps' else content))


def rows_of_classification():
    """One run of every method, benchmark and page."""
    tables = load('make_tables').classification_tables
    for page in tables.TABLES:
        seen = set()
        name = page.removeprefix('appendix/')
        for run in tables.read_json(name):
            key = run['benchmark'], run['method']
            if key not in seen:
                seen.add(key)
                yield pytest.param(
                    run, tables.command(name, run), id='-'.join((name, *key)))


def config_of(command: str):
    """The config that a command of tools/train.py runs."""
    parser = ArgumentParser()
    add_options(parser)
    python, tool, *rest = shlex.split(command)
    assert (python, tool) == ('python', 'tools/train.py')
    cfg = load_config(parser.parse_args(rest))
    check_keys(cfg)
    check_values(cfg)
    return cfg


@pytest.mark.parametrize('run, command', list(rows_of_classification()))
def test_a_command_is_that_of_its_run(run, command, monkeypatch):
    monkeypatch.chdir(FOLDER.parents[1])
    cfg = config_of(command)
    assert cfg.randomness.seed == run['seed']
    hook = cfg.method.get('every', {}).get('hooks', {}).get('consolidation')
    if hook and run['strength'] is not None:
        assert hook.strength == run['strength']
    assert bool(cfg.get('self_paced')) == ('spWC' in run['method'])
    if cfg.get('self_paced'):
        options = {k: v for k, v in cfg.self_paced.items()
                   if k not in ('name', 'update')}
        SelfPacedChoice.from_dict({**options, 'unit': 'step'})
        step = step_config(cfg, scenario_of(cfg), 1)
        form = step.custom_hooks
        assert any(h.get('form') == 'per_step' for h in form)


def test_commands_of_segmentation_can_be_run(tool, monkeypatch):
    monkeypatch.chdir(FOLDER.parents[1])
    found = {run['command']: run['variant']
             for run in tool.read_json('voc128_full')}
    found.update({tool.voc128_command(row): row['method']
                  for row in tool.read_csv('voc128')})
    for command, variant in found.items():
        cfg = config_of(command.replace('=SEED', '=7'))
        assert bool(cfg.get('self_paced')) == any(
            word in variant for word in ('spWC', 'control'))
        step_config(cfg, scenario_of(cfg), 1)
