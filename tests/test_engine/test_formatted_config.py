"""The text of a config is laid out once."""
import copy

import pytest
from mmengine.config import Config
from mmengine.config import config as module

from mmseg_spwc.engine.formatted_config import FormattedConfig


@pytest.fixture
def layouts(monkeypatch):
    """Count how often MMEngine lays a text out."""
    count = []
    original = module.FormatCode
    monkeypatch.setattr(module, 'FormatCode', lambda *args, **kwargs: (
        count.append(1), original(*args, **kwargs))[1])
    return count


def test_text_is_that_of_mmengine_and_made_once(layouts, tmp_path):
    content = dict(model=dict(type='A', sizes=[1, 2]), name='once')
    cfg = FormattedConfig(content)
    assert cfg.pretty_text == Config(content).pretty_text
    before = len(layouts)
    copy.deepcopy(cfg).dump(tmp_path / 'config.py')
    assert cfg.pretty_text and len(layouts) == before
    assert Config.fromfile(tmp_path / 'config.py').model.sizes == [1, 2]


def test_a_changed_config_gets_its_own_text(layouts):
    cfg = FormattedConfig(dict(lr=0.1, name='changed'))
    first = cfg.pretty_text
    cfg.lr = 0.2
    assert 'lr = 0.2' in cfg.pretty_text and 'lr = 0.1' in first
