"""A user's own method: one file outside the package, one config."""
import subprocess
import sys
from pathlib import Path

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


def test_a_method_in_a_single_file(tiny_config, tmp_path):
    cfg = tiny_config(**{
        'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
        'train_cfg.max_epochs': 1,
        'schedule.later.train_cfg.max_epochs': 1})
    cfg.dump(tmp_path / 'base.py')
    (tmp_path / 'my_method.py').write_text(LOSS)
    (tmp_path / 'mine.py').write_text(
        CONFIG.format(base=tmp_path / 'base.py'))
    done = subprocess.run(
        [sys.executable, ROOT / 'tools/train.py', tmp_path / 'mine.py',
         '--work-dir', tmp_path / 'out'],
        env={'PYTHONPATH': str(tmp_path), 'PATH': '',
             'MMSEG_SPWC_CACHE': str(tmp_path / 'cache'),
             'HOME': str(tmp_path)},
        capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    record = Record.read(tmp_path / 'out')
    assert 'loss_near' in record.step(1)['curves']['losses']
    assert record.content['method'] == 'Mine'
