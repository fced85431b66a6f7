"""Every table of docs/results is what the runs kept there say."""
import importlib.util
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / 'docs/results'


def load(name: str):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f'{name}.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    monkeypatch.setattr(tool, 'HERE', tmp_path)
    assert tool.shapes_seeds() != before


@pytest.mark.parametrize('values, text', [
    ([], '-'), ([None], '-'), ([0.5], '50.0'), ([0.4, 0.6], '50.0 ± 10.0'),
    ([0.1, None, 0.2, 0.3], '20.0 ± 5.8')])
def test_an_error_is_the_standard_error_of_the_mean(tool, values, text):
    assert tool.estimate(values) == text


def test_records_are_small():
    records = list((FOLDER / 'records').glob('*.json'))
    assert records
    for path in records:
        assert path.stat().st_size < 400_000
        assert all(isinstance(run, dict) for run in
                   json.loads(path.read_text()))
