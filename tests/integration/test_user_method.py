"""A user's own method: one file outside the package, one config."""
import itertools
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from mmseg_spwc.consolidation import StepStore
from mmseg_spwc.record import Record

ROOT = Path(__file__).resolve().parents[2]

LOSS = '''
import torch
from mmseg_spwc.registry import MODELS


@MODELS.register_module()
class LogitDistanceLoss(torch.nn.Module):
    """Mean squared distance to the old logits, on the old channels."""

    def __init__(self, loss_weight=1.0):
        super().__init__()
        self.loss_weight = loss_weight

    def forward(self, logits, old_logits):
        new = logits[:, :old_logits.shape[1]]
        return self.loss_weight * (new - old_logits).square().mean()
'''

CONFIG = '''
_base_ = ['{base}']
custom_imports = dict(imports=['mmseg_spwc', 'my_method'])
method = dict(
    name='Mine',
    later=dict(
        model=dict(
            losses=dict(
                near=dict(
                    type='mmseg_spwc.LogitDistanceLoss', loss_weight=2.)))))
'''


# an importance of one's own is in docs/extend.md; beside it:
PENALTY = '''
from mmseg_spwc.consolidation import GradientUpdate, LastForm
from mmseg_spwc.registry import TASK_UTILS


@TASK_UTILS.register_module()
class ScaledForm(LastForm):

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, store, weights, prepare):
        weights = {s: self.factor * w for s, w in weights.items()}
        return super().__call__(store, weights, prepare)


@TASK_UTILS.register_module()
class LoudUpdate(GradientUpdate):

    def before_update(self, params):
        print('pulled by', self.penalty.value(params).item())
        super().before_update(params)
'''

PENALISED = '''
_base_ = ['{base}']
custom_imports = dict(imports=['mmseg_spwc', 'my_method'])
method = dict(
    name='Mine',
    every=dict(
        hooks=dict(
            consolidation=dict(
                type='mmseg_spwc.ConsolidationHook',
                importance=dict(
                    type='mmseg_spwc.ClassImportance', channel=1),
                form=dict(type='mmseg_spwc.ScaledForm', factor=3.),
                update='mmseg_spwc.LoudUpdate',
                strength=1.))))
'''


@pytest.fixture
def train(tiny_config, tmp_path):
    """Train two steps of a user's config in a folder of their own."""

    def run(code, config):
        cfg = tiny_config(**{
            'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
            'train_cfg.max_epochs': 1,
            'schedule.later.train_cfg.max_epochs': 1})
        cfg.dump(tmp_path / 'base.py')
        (tmp_path / 'my_method.py').write_text(code)
        (tmp_path / 'mine.py').write_text(
            config.format(base=tmp_path / 'base.py'))
        done = subprocess.run(
            [sys.executable, ROOT / 'tools/train.py', tmp_path / 'mine.py',
             '--work-dir', tmp_path / 'out'],
            env={'PYTHONPATH': f'{tmp_path}{os.pathsep}{ROOT}', 'PATH': '',
                 'MMSEG_SPWC_CACHE': str(tmp_path / 'cache'),
                 'HOME': str(tmp_path)},
            capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        assert Record.read(tmp_path / 'out').content['method'] == 'Mine'
        return done.stdout

    return run


def test_a_method_in_a_single_file(train, tmp_path):
    train(LOSS, CONFIG)
    record = Record.read(tmp_path / 'out')
    assert 'loss_near' in record.step(1)['curves']['losses']


def documented(name: str) -> str:
    """The code that docs/extend.md shows as a file of this name."""
    text = (ROOT / 'docs/extend.md').read_text()
    lines = text.split(f'    # {name}\n')[1].splitlines()
    code = itertools.takewhile(
        lambda line: not line or line.startswith('    '), lines)
    return textwrap.dedent('\n'.join(code))


def test_a_penalty_in_a_single_file(train, tmp_path):
    """An importance, a form and an update of one's own, all at once."""
    output = train(documented('my_importance.py') + PENALTY, PENALISED)
    pulls = [float(line.split()[-1]) for line in output.splitlines()
             if line.startswith('pulled by')]
    assert pulls[0] == 0 and pulls[-1] > 0
    store = StepStore(tmp_path / 'out/consolidation')
    assert store.steps() == [0, 1]
    importances, _ = store.load(0)
    bias = importances['decode_head.conv_seg.convs.0.bias']
    # the derivative by the channel's bias is its number of pixels, 6 x 6
    assert bias.tolist() == [0, 36**2, 0, 0, 0, 0]
