"""--amp finds the mixed-precision form of every optimiser wrapper."""
import pytest
import torch
from mmengine.config import Config

from mmseg_spwc.engine import launch
from mmseg_spwc.errors import ConfigError


@pytest.mark.parametrize('cuda, plain, ours', [
    (True, 'AmpOptimWrapper', 'mmseg_spwc.ConsolidatedAmpOptimWrapper'),
    (False, 'mmseg_spwc.CpuAmpOptimWrapper',
     'mmseg_spwc.ConsolidatedCpuAmpOptimWrapper')])
def test_amp_switches_the_methods_wrapper_too(monkeypatch, cuda, plain, ours):
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: cuda)
    kind = 'mmseg_spwc.ConsolidatedOptimWrapper'
    cfg = Config(dict(
        optim_wrapper=dict(optimizer=dict(type='SGD')),
        schedule=dict(later=dict(optim_wrapper=dict(optimizer=dict(lr=1)))),
        method=dict(name='EWC', every=dict(optim_wrapper=dict(type=kind)))))
    for _ in range(2):
        launch.use_mixed_precision(cfg)
    assert cfg.optim_wrapper.type == plain
    assert cfg.method.every.optim_wrapper.type == ours
    assert 'type' not in cfg.schedule.later.optim_wrapper
    cfg.method.every.optim_wrapper.type = 'Other'
    with pytest.raises(ConfigError, match='wrapper Other'):
        launch.use_mixed_precision(cfg)
