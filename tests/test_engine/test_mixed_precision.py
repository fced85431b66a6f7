"""--amp finds the mixed-precision form of every optimiser wrapper."""
import pytest
import torch

from mmseg_spwc.config.step import scenario_of, step_config
from mmseg_spwc.errors import ConfigError


def wrapper(cfg, step):
    return step_config(cfg, scenario_of(cfg), step).optim_wrapper


@pytest.mark.parametrize('cuda, form', [
    (True, 'AmpOptimWrapper'), (False, 'mmseg_spwc.CpuAmpOptimWrapper')])
def test_amp_switches_the_methods_wrapper_too(
        monkeypatch, tiny_config, cuda, form):
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: cuda)
    cfg = tiny_config()
    cfg.amp = True
    cfg.optim_wrapper.pop('type', None)
    kind = dict(by_scenario={'default': 'OptimWrapper'})
    cfg.merge_from_dict(dict(
        schedule=dict(later=dict(optim_wrapper=dict(optimizer=dict(lr=1)))),
        method=dict(step_1=dict(optim_wrapper=dict(type=kind)),
                    step_2=dict(optim_wrapper=dict(type=form)))))
    assert [wrapper(cfg, s).type for s in range(3)] == [form] * 3
    assert wrapper(cfg, 0).get('loss_scale') == ('dynamic' if cuda else None)
    cfg.merge_from_dict({'method.step_1.optim_wrapper.type': 'Other'})
    with pytest.raises(ConfigError, match='wrapper Other'):
        wrapper(cfg, 1)
    cfg.amp = False
    assert wrapper(cfg, 1).type == 'Other'
