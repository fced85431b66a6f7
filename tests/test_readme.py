"""What README and docs say a reader can type, open and click on."""
import json
import re
from pathlib import Path
from statistics import mean, stdev

import pytest
from mmengine.config import Config

from mmseg_spwc.cli import TOOLS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / 'README.md').read_text()
PAGES = sorted(
    path.relative_to(ROOT) for path in (
        *ROOT.glob('*.md'), *ROOT.glob('docs/**/*.md'),
        *ROOT.glob('configs/**/*.md'), ROOT / 'data/README.md')
    if path.name != 'CHANGELOG.md')
NAMED = re.compile(
    r'(?<![\w/.-])(?:configs|tools|docs|tests|benchmarks|mmseg_spwc|'
    r'requirements)/[\w./-]*\w')
# names that a reader fills in, or makes
PLACEHOLDERS = re.compile(r'[A-Z]{3,}|aerial|drift|\.\.\.')


def test_start_in_python(config_in, tmp_path, monkeypatch, capsys):
    """The block runs as printed; only the config is a smaller one."""
    block, = re.findall(r'```python\n(.*?)```', README, re.DOTALL)
    assert len(block.splitlines()) <= 12
    fromfile = Config.fromfile

    def smaller(path):
        with monkeypatch.context() as patch:
            patch.setattr(Config, 'fromfile', fromfile)
            return config_in(tmp_path, path, **{
                'train_cfg.max_epochs': 1,
                'schedule.later.train_cfg.max_epochs': 1})

    monkeypatch.setattr(Config, 'fromfile', smaller)
    monkeypatch.chdir(tmp_path)
    exec(compile(block, 'README.md', 'exec'), {})
    assert "'all'" in capsys.readouterr().out
    assert (tmp_path / 'work_dirs/first/record.json').is_file()
    assert list(tmp_path.glob('forgetting*'))


@pytest.mark.parametrize('page', PAGES, ids=str)
def test_named_files_exist(page):
    named = set(NAMED.findall((ROOT / page).read_text()))
    missing = [path for path in named if not PLACEHOLDERS.search(Path(
        path).name) and not list(ROOT.glob(f'{path}*'))]
    assert missing == []


@pytest.mark.parametrize('page', PAGES, ids=str)
def test_links_lead_somewhere(page):
    text = re.sub('```.*?```', '', (ROOT / page).read_text(), flags=re.S)
    links = re.findall(r'\]\(([^)\s]+)\)', text)
    for link in links:
        if re.match(r'\w+:', link):
            continue
        path, _, anchor = link.partition('#')
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), link
        if anchor:
            assert anchor in headings(target.read_text()), link


def headings(text):
    """Names of the headings of a page, as links have them."""
    return {re.sub(r'[^\w -]', '', title.lower()).replace(' ', '-')
            for title in re.findall(r'^#+ (.*)$', text, re.M)}


@pytest.mark.parametrize('page', PAGES, ids=str)
def test_commands_and_their_options_exist(page):
    text = (ROOT / page).read_text().replace('\\\n', ' ')
    shared = [ROOT / 'mmseg_spwc' / name for name in (
        'cli.py', 'config/load.py')] + [ROOT / 'tools/sweep.py']
    for kind, name, rest in re.findall(
            r'(mmseg-spwc |python tools/)([\w/.]+)(.*(?:\n {8}.*)*)', text):
        if kind.startswith('mmseg'):
            assert name in TOOLS, f'mmseg-spwc {name}'
            name = TOOLS[name]
        known = ''.join(p.read_text() for p in (
            ROOT / 'tools' / name, *shared))
        for option in re.findall(r'(?<=[\s\[])--[a-z][a-z-]*',
                                 rest.partition('`')[0]):
            assert f"'{option}'" in known, f'{name} {option}'


def test_scores_of_the_demo_are_those_of_its_runs():
    runs = json.loads(
        (ROOT / 'docs/results/records/demo.json').read_text())
    scores = {name: [run['all'] for run in runs if run['method'] == name]
              for name in ('Finetune', 'RCIL', 'RCIL+spWC (background kept)')}
    for of_seeds in scores.values():
        assert f'{mean(of_seeds):.1f} ± {error(of_seeds):.1f} for' in README
    rcil, spwc = list(scores.values())[1:]
    gains = [b - a for a, b in zip(rcil, spwc, strict=True)]
    assert f'({mean(gains):.1f} ± {error(gains):.1f} within' in README
    assert max(scores['Finetune']) < min(rcil + spwc)


def error(values):
    return stdev(values) / len(values)**0.5


def test_is_read_in_minutes():
    assert len(README.splitlines()) < 200
