"""Configs of records are read, never run."""
from pathlib import Path

import pytest
from mmengine.config import Config

from mmseg_spwc.record import Record, config_text

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize('leaf', [
    'configs/demo/rcil-spwc_shapes-6-1.py',  # with a table
    'configs/finetune/finetune_segformer-mit-b0_voc12aug-512x512.py',
])
def test_the_config_of_a_record_comes_back(leaf):
    cfg = Config.fromfile(ROOT / leaf)
    record = Record(dict(run=dict(config=config_text(cfg.to_dict()))))
    assert record.config == cfg.to_dict()
