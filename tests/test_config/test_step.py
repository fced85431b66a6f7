"""The config of a step is a pure function of the sequence's."""
import copy

import pytest
import torch
from mmengine.config import Config
from mmengine.config import config as mmengine_config

from mmseg_spwc.config.keys import KEYS
from mmseg_spwc.config.length import settle_length
from mmseg_spwc.config.types import SHARDED
from mmseg_spwc.engine import step_config
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.scenario import build_scenario


@pytest.fixture
def cfg(tiny_config):
    return tiny_config()


@pytest.fixture
def scenario(cfg):
    return build_scenario(cfg.scenario.to_dict())


def test_pure_and_complete(cfg, scenario):
    before = copy.deepcopy(cfg.to_dict())
    first = step_config(cfg, scenario, 1)
    assert step_config(cfg, scenario, 1).to_dict() == first.to_dict()
    assert cfg.to_dict() == before
    assert not set(first) & set(KEYS)


def test_printed_config_is_the_config(cfg, scenario):
    out = step_config(cfg, scenario, 1)
    again = Config.fromstring(out.pretty_text, '.py')
    assert again.to_dict() == out.to_dict()


def test_channels_images_and_folders_follow_the_step(cfg, scenario):
    for step, channels in enumerate([[5], [5, 3], [5, 3, 3]]):
        out = step_config(cfg, scenario, step)
        assert out.model.channels == channels
        assert out.model.decode_head.num_classes == sum(channels)
        assert out.train_dataloader.dataset.step == step
        assert out.work_dir.endswith(f'step_{step:02d}')
        assert out.visualizer.name.endswith(f'step_{step:02d}')
    assert [out.train_dataloader.dataset.role, out.val_dataloader.dataset.role,
            out.test_dataloader.dataset.role] == ['train', 'heldout', 'test']


def test_heldout_images_are_training_images_seen_plainly(cfg, scenario):
    out = step_config(cfg, scenario, 1)
    inner = out.val_dataloader.dataset.dataset
    assert inner.ann_file.endswith('train.txt')
    assert inner.pipeline == out.test_dataloader.dataset.dataset.pipeline


def test_schedule_and_method_override_in_that_order(cfg, scenario):
    cfg.merge_from_dict({
        'schedule.later.optim_wrapper.optimizer.lr': 0.5,
        'method.later': dict(optim_wrapper=dict(optimizer=dict(lr=0.25))),
        'method.step_2': dict(train_cfg=dict(max_epochs=7)),
    })
    rates = [
        step_config(cfg, scenario, s).optim_wrapper.optimizer.lr
        for s in range(3)
    ]
    assert rates == [0.05, 0.25, 0.25]
    last = step_config(cfg, scenario, 2)
    assert last.train_cfg.max_epochs == 7
    assert last.param_scheduler[0].end == 7


@pytest.mark.parametrize('least, epochs', [
    (1, 2), (14, 2), (15, 3), (21, 3), (22, 4)])
def test_short_steps_get_whole_epochs(cfg, scenario, least, epochs):
    cfg.merge_from_dict({'schedule.later.train_cfg.min_iters': least})
    cfg.param_scheduler = [
        dict(type='LinearLR', start_factor=0.1, end=1),  # warm-up: stays
        dict(type='PolyLR', begin=1, convert_to_iter_based=True),
        dict(type='PolyLR', by_epoch=False),
        dict(type='ConstantLR', factor=1., by_epoch=False, end=5)]
    first, later = (step_config(cfg, scenario, s) for s in range(2))
    for out in (first, later):
        settle_length(out, per_epoch=7)
    assert [s.end for s in first.param_scheduler] == [1, 2, 14, 5]
    assert later.train_cfg.max_epochs == epochs
    assert [s.end for s in later.param_scheduler] == [
        1, epochs, 7 * epochs, 5]
    assert later.train_cfg.val_interval > epochs
    assert 'min_iters' not in later.train_cfg


def test_restart_treats_every_step_as_a_first(cfg, scenario):
    cfg.method.restart = True
    out = step_config(cfg, scenario, 2)
    assert out.optim_wrapper.optimizer.lr == 0.05
    assert 'previous' not in str(out.custom_hooks)


def test_training_images_alone_are_kept_in_memory(cfg, scenario):
    cfg.keep_decoded = 2
    out = step_config(cfg, scenario, 1)
    assert out.train_dataloader.dataset.keep_decoded == 2
    for loader in (out.val_dataloader, out.test_dataloader):
        assert 'keep_decoded' not in loader.dataset


def test_total_batch_is_split_over_processes(cfg, scenario):
    assert step_config(cfg, scenario, 0, 2).train_dataloader.batch_size == 4
    with pytest.raises(ConfigError, match='cannot be split over 3'):
        step_config(cfg, scenario, 0, 3)


def test_no_held_out_slice_no_scoring(cfg, scenario):
    cfg.heldout.ratio = 0
    out = step_config(cfg, scenario, 0)
    assert out.val_dataloader is None and out.val_cfg is None


def test_other_models_are_refused(cfg, scenario):
    cfg.model.type = 'CascadeEncoderDecoder'
    with pytest.raises(ConfigError, match='CascadeEncoderDecoder'):
        step_config(cfg, scenario, 0)


def test_root_and_crop_reach_every_data_set(cfg, scenario):
    cfg.data_root = 'elsewhere'
    out = step_config(cfg, scenario, 0)
    for loader in (out.train_dataloader, out.val_dataloader,
                   out.test_dataloader):
        assert loader.dataset.dataset.data_root == 'elsewhere'
        sizes = [t['size'] for t in loader.dataset.dataset.pipeline
                 if 'size' in t]
        assert sizes == [48]
    assert out.model.data_preprocessor.size == (48, 48)


WRAPPED = dict(type='MMDistributedDataParallel', device_ids=None)


@pytest.mark.parametrize('cuda, world_size, given, expected', [
    (True, 2, {}, dict(sync_bn='torch')),
    (True, 1, {}, {}),
    (True, 2, dict(sync_bn=None), dict(sync_bn=None)),
    (True, 2, dict(sync_bn='mmcv'), dict(sync_bn='mmcv')),
    (False, 1, {}, {}),
    (False, 2, {}, dict(model_wrapper_cfg=WRAPPED)),
    (False, 2, dict(model_wrapper_cfg=dict(type='Mine')),
     dict(model_wrapper_cfg=dict(type='Mine'))),
    # one process could store its share only
    (False, 2, dict(model_wrapper_cfg=dict(type=SHARDED)),
     dict(model_wrapper_cfg=dict(type=SHARDED), checkpoint=None)),
])
def test_what_several_processes_need(cfg, scenario, monkeypatch, cuda,
                                     world_size, given, expected):
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: cuda)
    cfg.merge_from_dict(given)
    out = step_config(cfg, scenario, 0, world_size)
    found = {key: out[key] for key in ('sync_bn', 'model_wrapper_cfg')
             if key in out}
    if out.default_hooks.checkpoint is None:
        found['checkpoint'] = None
    assert found == expected


def test_text_is_written_without_yapf_and_read_again(
        cfg, scenario, tmp_path, monkeypatch):
    out = step_config(cfg, scenario, 1)
    monkeypatch.delattr(mmengine_config, 'FormatCode')
    copy.deepcopy(out).dump(tmp_path / 'config.py')
    again = Config.fromfile(tmp_path / 'config.py', format_python_code=False)
    assert again.to_dict() == out.to_dict()


def test_the_model_learns_what_priorities_act_on(cfg, scenario):
    cfg.self_paced = dict(rule='spwc', k=3)
    assert 'priority_on' not in step_config(cfg, scenario, 1).model
    cfg.self_paced.on = 'distillation'
    out = step_config(cfg, scenario, 1)
    assert out.model.priority_on == 'distillation'
    assert 'on' not in next(
        h for h in out.custom_hooks if h['type'].endswith('SelfPacedHook'))
    assert 'priority_on' not in step_config(cfg, scenario, 0).model


def test_penalties_leave_no_choice_of_losses(cfg, scenario):
    cfg.self_paced = dict(rule='spwc', k=3, on='both')
    cfg.merge_from_dict(dict(
        method=dict(every=dict(hooks=dict(consolidation=dict(
            type='mmseg_spwc.ConsolidationHook'))))))
    with pytest.raises(ConfigError, match="on='both'.*penalties"):
        step_config(cfg, scenario, 1)


def test_every_step_has_a_seed_of_its_own(cfg, scenario):
    cfg.randomness = dict(seed=7)
    for step in range(2):
        out = step_config(cfg, scenario, step)
        assert out.randomness.seed == 7 + step
        assert out.train_dataloader.dataset.seed == 7 + step
