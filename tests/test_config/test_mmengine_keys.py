"""Every key of MMEngine's is honoured or refused."""
import re
from pathlib import Path

import pytest
from mmengine.config import Config

from mmseg_spwc.config.keys import KEYS, MMENGINES, check_keys
from mmseg_spwc.config.preflight import check_parts, plan_steps
from mmseg_spwc.config.step import scenario_of
from mmseg_spwc.engine import step_config
from mmseg_spwc.engine.sequence import ContinualRunner
from mmseg_spwc.errors import ConfigError

DOC = (Path(__file__).resolve().parents[2] / 'docs/configs.md').read_text()


# what a step's config has to hold as it was given
ARRIVES = {
    'model.backbone.with_cp': True,
    'train_dataloader.num_workers': 3,
    'test_dataloader.num_workers': 3,
    'train_cfg.val_interval': 7,
    'test_cfg.fp16': True,
    'auto_scale_lr': dict(enable=True, base_batch_size=8),
    'optim_wrapper.optimizer.momentum': 0.7,
    'param_scheduler': [dict(type='PolyLR', power=0.7, begin=1, end=3)],
    'default_hooks.logger.interval': 3,
    'env_cfg.cudnn_benchmark': True,
    'log_processor.window_size': 3,
    'log_level': 'ERROR',
    'visualizer.alpha': 0.3,
    'default_scope': 'mmpretrain',
    'randomness.deterministic': True,
}
# lists to which a sequence adds its own
ARRIVES_AMONG = dict(custom_hooks=dict(type='EmptyCacheHook'),
                     test_evaluator=dict(type='Accuracy'))
# said below, in test_load_from.py and in the tests of --resume, --launcher
OTHERWISE = {'work_dir', 'experiment_name', 'data_preprocessor', 'load_from',
             'resume', 'launcher', 'cfg', 'val_dataloader', 'val_evaluator',
             'val_cfg'}


def test_every_key_is_accounted_for():
    arrive = {place.partition('.')[0] for place in ARRIVES}
    assert arrive | {*ARRIVES_AMONG} | OTHERWISE == {*MMENGINES}


@pytest.mark.parametrize('place', [*ARRIVES, *ARRIVES_AMONG])
@pytest.mark.parametrize('number', [0, 1])
def test_what_is_given_arrives(tiny_config, place, number):
    value = ARRIVES.get(place)
    cfg = tiny_config()
    cfg.merge_from_dict({place: value or [ARRIVES_AMONG[place]]})
    found = step(cfg, number)
    for word in place.split('.'):
        found = found[word]
    assert ARRIVES_AMONG[place] in found if value is None else found == value


def step(cfg, number=1):
    return step_config(cfg, scenario_of(cfg), number)


@pytest.mark.parametrize('title, keys', [
    ("Keys beside MMEngine's", KEYS), ("MMEngine's keys", MMENGINES)])
def test_the_tables_of_keys_are_complete(title, keys):
    section = re.search(rf'## {title}\n(.*?)\n##', DOC, re.DOTALL)[1]
    rows = re.findall(r'^\| ([^|]*) \|', section, re.MULTILINE)
    assert {*re.findall(r'`(\w+)', ' '.join(rows))} == {*keys}


def test_the_user_s_names_are_kept(tiny_config):
    cfg = tiny_config()
    cfg.experiment_name = 'mine'
    assert step(cfg).experiment_name == 'mine_step_01'
    assert step(cfg).visualizer.name == 'mine_step_01'
    cfg.visualizer.name = 'board'
    assert step(cfg).visualizer.name == 'board_step_01'


def test_the_options_of_the_test_loop_are_kept(tiny_config):
    cfg = tiny_config()
    assert step(cfg).test_cfg == dict(type='TestLoop')
    cfg.test_cfg = dict(fp16=True)
    assert step(cfg).test_cfg == dict(type='TestLoop', fp16=True)
    for wrong, message in ((dict(type='TestLop'), "no loop 'TestLop'"),
                           (dict(fp17=True), "did you mean 'fp16'")):
        cfg.test_cfg = wrong
        with pytest.raises(ConfigError, match=message):
            check_parts({1: step(cfg)})


def test_a_preprocessor_beside_the_model_is_the_model_s(tiny_config):
    cfg = tiny_config()
    given = cfg.model.pop('data_preprocessor').to_dict()
    cfg.data_preprocessor = given
    found = step(cfg).model.data_preprocessor
    assert found.type == given['type'] and found.mean == given['mean']


@pytest.mark.parametrize('change, message', [
    (dict(log_processor=dict(type='MyLogProcessor')),
     'log_processor.type is MyLogProcessor: .* Leave the type out'),
    (dict(method=dict(first=dict(load_from='a.pth'))),
     'method.first.load_from has no effect, since load_from is one for the '
     'whole run: set load_from beside method'),
    (dict(schedule=dict(every=dict(total_batch_size=8))),
     'schedule.every.total_batch_size has no effect'),
    (dict(method=dict(every=dict(work_dir='x'))), 'method.every.work_dir'),
])
def test_what_cannot_be_honoured_is_refused(tiny_config, change, message):
    cfg = tiny_config()
    cfg.merge_from_dict(change)
    with pytest.raises(ConfigError, match=message):
        step(cfg, 0)


@pytest.mark.parametrize('key, usual, own', [
    ('test_dataloader.sampler', 'DefaultSampler', 'MySampler'),
    ('test_dataloader.collate_fn', 'default_collate', 'my_collate'),
    ('train_dataloader.collate_fn', 'pseudo_collate', 'my_collate')])
def test_a_classifier_s_own_loading_is_refused(key, usual, own):
    cfg = Config.fromfile('configs/classification/finetune/'
                          'finetune_mlp_permuted-digits.py')
    cfg.work_dir = 'work'
    cfg.merge_from_dict({key: dict(type=usual)})
    step(cfg)
    cfg.merge_from_dict({key: dict(type=own)})
    with pytest.raises(ConfigError, match=f'{key} is {own}: .* Leave it out'):
        step(cfg)


def test_a_config_holds_no_config(tiny_config):
    cfg = tiny_config()
    with pytest.raises(ConfigError, match='The key cfg has no effect'):
        check_keys(dict(cfg.to_dict(), cfg=dict(a=1)))


def test_the_last_step_alone_has_no_step_before(tiny_config):
    cfg = tiny_config()
    cfg.method.run = 'last'
    scenario = scenario_of(cfg)
    with pytest.raises(ConfigError, match=(
            "method.run='last' trains the last step alone, .* set "
            'method.restart=True')):
        plan_steps(cfg, scenario, [scenario.num_steps - 1])


def test_own_validation_is_said_not_to_be_used(tiny_config, monkeypatch):
    said = []
    monkeypatch.setattr('mmseg_spwc.engine.sequence.warn', said.append)
    monkeypatch.setattr(
        'mmseg_spwc.engine.sequence.plan_steps', lambda *_: 1 / 0)
    cfg = tiny_config()
    cfg.val_dataloader, cfg.val_evaluator = cfg.test_dataloader, {}
    with pytest.raises(ZeroDivisionError):
        ContinualRunner(cfg).train()
    assert said == [
        'val_dataloader of the config: not used, since a sequence validates '
        'on its held-out slice (heldout), as it tests.']
