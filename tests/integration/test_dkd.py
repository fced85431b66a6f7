"""DKD keeps its background at zero, and what it publishes is plain."""
import sys
from pathlib import Path

import torch
from mmengine.config import Config

from mmseg_spwc.apis.publish import publish
from mmseg_spwc.engine import ContinualRunner, step_config
from mmseg_spwc.registry import MODELS
from mmseg_spwc.runtime.checkpoint import load_step
from mmseg_spwc.scenario import build_scenario

ROOT = Path(__file__).resolve().parents[2]
METHODS = ROOT / 'configs/_base_/methods'
sys.path.append(str(ROOT / 'tests/test_models/test_segmentors'))
from segmentor_parts import batch  # noqa: E402


def test_no_extra_row_waits_for_a_gradient(tiny_config):
    """Else several processes would wait for that of an auxiliary head."""
    cfg = tiny_config()
    cfg.method = Config.fromfile(METHODS / 'dkd.py').method
    cfg.model.auxiliary_head = dict(
        type='FCNHead', in_channels=cfg.model.decode_head.in_channels,
        in_index=-1, channels=8, num_convs=1, num_classes=2,
        loss_decode=dict(type='CrossEntropyLoss', loss_weight=.4))
    scenario = build_scenario(cfg.scenario.to_dict())
    model = MODELS.build(step_config(cfg, scenario, 0).model)
    inputs, samples = batch(channels=5)
    losses = model.loss(inputs, samples)
    sum(v for k, v in losses.items() if 'loss' in k).backward()
    waiting = [name for name, param in model.named_parameters()
               if param.requires_grad and param.grad is None]
    assert not waiting


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
