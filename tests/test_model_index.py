"""The model index names every leaf once, with measured results only."""
import csv
import json
from pathlib import Path

import pytest
import yaml
from scripts import load

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope='module')
def tool():
    return load('tools/misc/model_index.py')


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
              if '_base_' not in p.parts and 'sweeps' not in p.parts}
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


def test_records_of_whole_networks_count_too(tool):
    leaf = 'rcil/rcil_deeplabv3-mobilenetv2-d16_voc12aug-128x128.py'
    path = ROOT / 'docs/results/records/voc128_full.json'
    rows = [r for r in json.loads(path.read_text())
            if r['variant'] == 'RCIL' and r['table'] == 'whole']
    shown, = tool.results()[leaf]
    assert shown['Metrics']['seeds'] == len(rows) > 1
    assert shown['Metrics']['mIoU (all)'] == pytest.approx(
        100 * sum(r['all'] for r in rows) / len(rows), abs=0.051)
