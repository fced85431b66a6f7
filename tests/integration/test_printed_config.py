"""What print_config prints for a step is what the step's Runner gets."""
import shlex
from argparse import Namespace
from pathlib import Path

import pytest
from digit_runs import digits
from forked_ranks import on_ranks
from mmengine.config import Config
from scripts import load

from mmseg_spwc.config.load import load_config
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.engine.step_runner import StepRunner

ROOT = Path(__file__).resolve().parents[2]


def printed(capsys, monkeypatch, *arguments) -> dict:
    """The content that the tool prints."""
    tool = load('tools/misc/print_config.py')
    monkeypatch.setattr('sys.argv', ['print_config', *map(str, arguments)])
    capsys.readouterr()
    assert tool.main() == 0
    return Config.fromstring(capsys.readouterr().out, '.py').to_dict()


@pytest.fixture
def segmentation(tiny_config):
    return tiny_config(
        leaf='configs/demo/rcil-spwc_shapes-6-1.py', **{
            'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
            'train_cfg.max_epochs': 1,
            'schedule.later.train_cfg.max_epochs': 1
        })


@pytest.fixture
def classification(tmp_path):
    return digits(tmp_path / 'run', 'ewc-spwc', **{
        'experiment_name': 'x', 'scenario.name': '2'})


@pytest.mark.parametrize('problem, options', [
    ('segmentation', ''),
    ('classification', ''),
    ('classification', '--amp'),
])
def test_one_process(request, tmp_path, capsys, monkeypatch, problem,
                     options):
    given = {}
    build = StepRunner.from_cfg

    def from_cfg(cfg):
        given[cfg.work_dir[-2:]] = cfg.to_dict()
        return build(cfg)

    monkeypatch.setattr(StepRunner, 'from_cfg', from_cfg)
    path = tmp_path / 'leaf.py'
    request.getfixturevalue(problem).dump(path)
    ContinualRunner(load_config(Namespace(
        config=str(path), amp='--amp' in options))).train()
    assert list(given) == ['00', '01']
    for step in range(2):
        assert printed(
            capsys, monkeypatch, path, '--step', step,
            *shlex.split(options)) == given[f'{step:02d}']


def train(cfg: Config) -> None:
    ContinualRunner(cfg).train()


def test_two_processes(classification, tmp_path, capsys, monkeypatch):
    """The Runner writes its config into the step's folder."""
    path = tmp_path / 'leaf.py'
    classification.dump(path)
    cfg = load_config(Namespace(config=str(path), launcher='pytorch'))
    assert on_ranks(tmp_path / 'meet', train, cfg) == ['done', 'done']
    for step in range(2):
        found = Config.fromfile(f'{cfg.work_dir}/step_{step:02d}/leaf.py')
        assert found.train_dataloader.batch_size == 32
        assert printed(
            capsys, monkeypatch, path, '--step', step, '--world-size', 2,
            '--launcher', 'pytorch') == found.to_dict()
