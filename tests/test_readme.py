"""What the README says a reader can type."""
import json
import re
from pathlib import Path
from statistics import mean, stdev

from mmengine.config import Config

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / 'README.md').read_text()


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


def test_paths_exist():
    paths = set(re.findall(r'(?:configs|tools|docs)/[\w./-]+', README))
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


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
