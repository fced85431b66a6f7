"""A sequence from a checkpoint of plain mmseg, and its resumption."""
import copy

import pytest
import torch
from mmengine.config import Config
from mmengine.runner import Runner

from mmseg_spwc.config.step import scenario_of
from mmseg_spwc.engine import ContinualRunner, step_config
from mmseg_spwc.engine.hooks.step_transition_hook import StepTransitionHook
from mmseg_spwc.runtime.checkpoint import load_step

PARTS = ('losses', 'channels', 'rc')


def of_mmseg(cfg: Config) -> str:
    """Train mmseg's own segmentor for an epoch; return its checkpoint."""
    out = step_config(cfg, scenario_of(cfg), 0)
    for part in PARTS:
        out.model.pop(part, None)
    out.model.type = 'EncoderDecoder'
    out.custom_hooks = []
    out.work_dir = f'{cfg.work_dir}/mmseg'
    out.default_hooks = dict(checkpoint=dict(type='CheckpointHook'))
    out.log_processor = dict()
    out.experiment_name = 'plain'
    out.visualizer.name = 'plain'
    out.train_cfg = dict(by_epoch=True, max_epochs=1)
    out.val_dataloader = out.val_cfg = out.val_evaluator = None
    Runner.from_cfg(out).train()
    return f'{out.work_dir}/epoch_1.pth'


@pytest.mark.parametrize('leaf', [
    'configs/demo/finetune_shapes-6-1.py', 'configs/demo/rcil_shapes-6-1.py'])
def test_first_weights_are_those_of_mmseg(tiny_config, leaf, monkeypatch):
    cfg = tiny_config(leaf)
    path = of_mmseg(cfg)
    theirs = torch.load(path, weights_only=False)['state_dict']
    cfg.merge_from_dict(dict(
        load_from=path,
        method=dict(first=dict(optim_wrapper=dict(optimizer=dict(lr=0.))))))
    given = []
    give = StepTransitionHook._give_first_weights

    def noted(self, *args):
        given.append((self.step, self.load_from))
        give(self, *args)

    monkeypatch.setattr(StepTransitionHook, '_give_first_weights', noted)
    steps = scenario_of(cfg).num_steps
    again = copy.deepcopy(cfg)
    monkeypatch.setattr(ContinualRunner, 'steps', property(lambda _: [0]))
    ContinualRunner(cfg).train()
    assert given == [(0, path)]
    ours = load_step(f'{cfg.work_dir}/step_00/final.pth')['state_dict']
    weights = [k for k in ours if k in theirs and theirs[k].dim() == 4]
    assert len(weights) > 10
    for key in weights:  # the running statistics have gone on
        torch.testing.assert_close(ours[key], theirs[key])
    monkeypatch.undo()
    torch.save({}, path)  # would be refused
    again.resume = True
    record = ContinualRunner(again).train()
    assert len(record.steps) == steps
