"""--amp finds the mixed-precision form of every optimiser wrapper."""
import pytest
import torch
from mmengine.config import Config

from mmseg_spwc.engine import launch
from mmseg_spwc.errors import ConfigError


@pytest.mark.parametrize('cuda, form', [
    (True, 'AmpOptimWrapper'), (False, 'mmseg_spwc.CpuAmpOptimWrapper')])
def test_amp_switches_the_methods_wrapper_too(monkeypatch, cuda, form):
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: cuda)
    cfg = Config(dict(
        optim_wrapper=dict(optimizer=dict(type='SGD')),
        schedule=dict(later=dict(optim_wrapper=dict(optimizer=dict(lr=1)))),
        method=dict(name='EWC', every=dict(
            optim_wrapper=dict(type='OptimWrapper')))))
    for _ in range(2):
        launch.use_mixed_precision(cfg)
    assert cfg.optim_wrapper.type == form
    assert cfg.method.every.optim_wrapper.type == form
    assert 'type' not in cfg.schedule.later.optim_wrapper
    cfg.method.every.optim_wrapper.type = 'Other'
    with pytest.raises(ConfigError, match='wrapper Other'):
        launch.use_mixed_precision(cfg)
