"""Configs of records are read, never run."""
from pathlib import Path

import pytest
from mmengine.config import Config

from mmseg_spwc.apis.step_model import read_config

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize('leaf', [
    'configs/demo/rcil-spwc_shapes-6-1.py',  # with a table
    'configs/finetune/finetune_segformer-mit-b0_voc12aug-512x512.py',
])
def test_a_printed_config_comes_back(leaf):
    cfg = Config.fromfile(ROOT / leaf)
    assert read_config(cfg.pretty_text) == cfg.to_dict()


@pytest.mark.parametrize('text', [
    'import os', "x = __import__('os')", 'x = [i for i in (1, 2)]',
    "x = dict([('a', 1)])", 'x.y = 1', 'x = open("f")', 'print(1)',
    'x = (lambda: 1)()', 'a = b = 1',
])
def test_code_is_refused(text):
    with pytest.raises(ValueError):
        read_config(text)
