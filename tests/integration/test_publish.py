"""A published step is an ordinary mmseg model."""
import subprocess
import sys
from pathlib import Path

import torch
from mmseg.registry import MODELS

from mmseg_spwc.engine import ContinualRunner, step_config
from mmseg_spwc.scenario import build_scenario

ROOT = Path(__file__).resolve().parents[2]


def test_mmseg_loads_and_runs_what_rcil_left(tiny_config, tmp_path):
    from mmengine.config import Config
    cfg = tiny_config(**{
        'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
        'train_cfg.max_epochs': 1,
        'schedule.later.train_cfg.max_epochs': 1,
    })
    # a network of mmseg's own types, doubled for training
    cfg.model.backbone = dict(
        type='ResNet', depth=18, base_channels=8, stem_channels=8,
        norm_cfg=dict(type='BN'))
    cfg.model.decode_head = dict(
        type='FCNHead', in_channels=64, in_index=3, channels=16, num_convs=1,
        concat_input=False, dropout_ratio=0., norm_cfg=dict(type='BN'))
    cfg.method = Config.fromfile(
        ROOT / 'configs/_base_/methods/rcil.py').method
    cfg.method.every.model.rc.match = r'\.conv2$'
    ContinualRunner(cfg).train()
    out = tmp_path / 'published.pth'
    subprocess.run([
        sys.executable, ROOT / 'tools/misc/publish_model.py',
        f'{cfg.work_dir}/step_01/final.pth', out
    ], check=True)
    published = torch.load(out, weights_only=True)

    ours = step_config(cfg, build_scenario(cfg.scenario.to_dict()), 1).model
    config = {
        key: ours[key]
        for key in ('backbone', 'decode_head', 'data_preprocessor')
    }
    model = MODELS.build(
        dict(
            type='EncoderDecoder',
            test_cfg=Config(dict(mode='whole')),
            **config))
    model.load_state_dict(published['state_dict'])
    assert model.decode_head.conv_seg.out_channels == 11
    assert len(published['meta']['dataset_meta']['classes']) == 11
    result = model.eval().predict(torch.randn(1, 3, 48, 48))
    assert result[0].pred_sem_seg.data.shape[-2:] == (48, 48)
