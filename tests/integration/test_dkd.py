"""DKD keeps its background at zero, and what it publishes is plain."""
from pathlib import Path

import torch
from mmengine.config import Config

from mmseg_spwc.apis.publish import publish
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.runtime.checkpoint import load_step

METHODS = Path(__file__).resolve().parents[2] / 'configs/_base_/methods'


def test_a_sequence(tiny_config, tmp_path):
    cfg = tiny_config(**{
        'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
        'train_cfg.max_epochs': 1, 'schedule.later.train_cfg.max_epochs': 1,
        'self_paced': dict(rule='linear', mu=2., on='distillation')})
    cfg.method = Config.fromfile(METHODS / 'dkd.py').method
    ContinualRunner(cfg).train()
    first, last = (load_step(f'{cfg.work_dir}/step_{s:02d}/final.pth')[
        'state_dict'] for s in range(2))
    place = 'decode_head.conv_seg.'
    for state in (first, last):
        assert not state[f'{place}convs.0.weight'][0].any()
        assert not state[f'{place}convs.0.bias'][0].any()
    assert first[f'{place}extra.bias'] > last[f'{place}extra.bias']
    assert not torch.equal(*(
        s['backbone.conv1.weight'] for s in (first, last)))
    assert torch.equal(*(s['backbone.bn1.weight'] for s in (first, last)))
    weights, _ = publish(cfg.work_dir, tmp_path / 'm.pth')
    state = torch.load(weights, weights_only=True)['state_dict']
    assert state[f'{place}weight'].shape[0] == 11
    assert not any('extra' in key for key in state)
