"""The model index names every leaf once, with measured results only."""
import csv
import importlib.util
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope='module')
def tool():
    spec = importlib.util.spec_from_file_location(
        'model_index', ROOT / 'tools/misc/model_index.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_files_are_what_the_tool_writes(tool):
    for path, text in tool.files().items():
        assert path.read_text() == text, (
            f'{path} is out of date: run python tools/misc/model_index.py')


def test_every_leaf_has_one_entry():
    index = yaml.safe_load((ROOT / 'model-index.yml').read_text())
    metafiles = [yaml.safe_load((ROOT / p).read_text())
                 for p in index['Import']]
    configs = [m['Config'] for f in metafiles for m in f['Models']]
    leaves = {p.relative_to(ROOT).as_posix()
              for p in (ROOT / 'configs').rglob('*.py')
              if '_base_' not in p.parts and p.parent.name != 'sweeps'}
    assert len(configs) == len(set(configs)) and set(configs) == leaves
    for content in metafiles:
        names = {c['Name'] for c in content['Collections']}
        assert all(m['In Collection'] in names for m in content['Models'])


def test_results_are_measured(tool):
    with (ROOT / 'docs/results/shapes.csv').open(newline='') as file:
        rows = [r for r in csv.DictReader(file)
                if r['leaf'] == 'demo/mib_shapes-6-1.py']
    assert len(rows) == 3
    mean = sum(float(r['all']) for r in rows) / 3
    shown, = tool.results()['demo/mib_shapes-6-1.py']
    assert shown['Metrics']['mIoU (all)'] == pytest.approx(
        100 * mean, abs=0.051)
    assert shown['Metrics']['seeds'] == 3
