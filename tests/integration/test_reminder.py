"""REMINDER's prototypes over a sequence."""
import pytest
import torch
from mmengine.config import Config

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.errors import ConfigError


@pytest.fixture
def reminder(tiny_config, tmp_path):

    def make(name='run', **options):
        cfg = tiny_config(**{
            'train_cfg.max_epochs': 1,
            'schedule.later.train_cfg.max_epochs': 1})
        cfg.method = Config.fromfile(
            'configs/_base_/methods/reminder.py').method
        cfg.work_dir = str(tmp_path / name)
        cfg.merge_from_dict(options)
        return cfg

    return make


def prototypes(cfg, step):
    return torch.load(f'{cfg.work_dir}/step_{step:02d}/prototypes.pth',
                      weights_only=True)['prototypes']


def test_prototypes_are_measured_once_and_kept(reminder):
    cfg = reminder()
    ContinualRunner(cfg).train()
    kept = [prototypes(cfg, step) for step in range(3)]
    assert [len(p) for p in kept] == [5, 8, 11]
    assert torch.equal(kept[2][:8], kept[1])
    assert torch.equal(kept[1][:5], kept[0])
    assert (kept[2].norm(dim=1) > 0).all()
    # a shared step 0 is measured as one that was trained here
    other = reminder('other',
                     start_from=f'{cfg.work_dir}/step_00/final.pth')
    ContinualRunner(other).train()
    for step in range(3):
        assert torch.equal(prototypes(other, step), kept[step])


def test_prototypes_that_were_never_measured_are_told(reminder):
    cfg = reminder()
    hooks = cfg.method.every.pop('hooks')
    cfg.method.later.hooks.update(hooks)
    with pytest.raises(ConfigError, match='method.every'):
        ContinualRunner(cfg).train()
