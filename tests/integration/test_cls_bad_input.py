"""Mistakes in continual classification are found before any training."""
import shutil
from pathlib import Path

import pytest
import torch
from digit_runs import (  # noqa: F401
    CONFIGS,
    digits,
    plain_text_of_configs,
    train,
)
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmpretrain.structures import DataSample

from mmseg_spwc.engine.step_config import scenario_of, step_config
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.record import Record
from mmseg_spwc.registry import MODELS
from mmseg_spwc.selfpaced import difficulty, priority_weights

TINY = {'scenario.name': '2', 'train_cfg.max_epochs': 1}


@pytest.fixture
def refused(tmp_path):
    """Check that a config is refused before anything is trained."""

    def check(message, method='ewc-spwc', scenario=None, cfg=None,
              **options):
        if cfg is None:
            cfg = digits(tmp_path / 'run', method, **{**TINY, **options})
        cfg.work_dir = str(tmp_path / 'run')
        if scenario:
            cfg.scenario = dict(scenario, problem='classification')
        with pytest.raises(ConfigError, match=message) as caught:
            train(cfg)
        assert not list(Path(cfg.work_dir).glob('step_*'))
        return str(caught.value)

    return check


OWN = dict(dataset='digits', kind='task', num_classes=10,
           steps=[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]])


@pytest.mark.parametrize('change, message', [
    (dict(kind='tasks'), "(?i)kind.*'tasks'.*task, class"),
    (dict(heads='shared'), "kind 'task' cannot have heads='shared'"),
    (dict(kind='class', heads='per_step'), "kind 'class' cannot have"),
    (dict(permute=True), "permute needs kind='domain'"),
    (dict(steps=[[0, 1, 2, 3], [4, 5, 6, 7, 8]]), r'learns the classes \[9\]'),
    (dict(steps=[[0, 1, 2, 3, 4], [4, 5, 6, 7, 8, 9]]), '4'),
    (dict(steps=[[0, 1, 2, 3, 4], []]), '(?i)step 1'),
    (dict(steps=[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9, 10]]), 'out of range'),
    (dict(num_classes=5, steps=[[0, 1], [2, 3, 4]]),
     'labels? 5, 6, 7, 8, 9, but labels of digits go from 0 to 4'),
    (dict(num_classes=12, steps=[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [10, 11]]),
     r'No image for step 1 \(10, 11\)'),
    (dict(kind='domain', steps=[['a'], ['b']]),
     r'1 data set\(s\) for 2 domains'),
    (dict(dataset='permuted_digit', kind=None), 'permuted_digits'),
    (dict(stesp=[[0]]), 'stesp'),
])
def test_scenarios(refused, change, message):
    refused(message, 'finetune', scenario={**OWN, **change})


def test_names_of_scenarios(refused):
    refused('name is the number of tasks', **{'scenario.name': 'ten'})
    cfg = Config.fromfile(
        CONFIGS / 'ewc/ewc_small-vgg_cifar100.py')
    cfg.scenario.name = '10x11'
    refused('use up all 100', cfg=cfg)


@pytest.mark.parametrize('options, message', [
    ({'heldout.ratio': 0}, 'held-out slice: set heldout.ratio'),
    ({'heldout': None}, 'held-out slice: set heldout.ratio'),
    ({'self_paced.unit': 'class'}, "unit='step'"),
    ({'self_paced.unit': 'task'}, "'class' or 'step', not 'task'"),
    ({'self_paced.rule': 'spcw'}, 'spcw'),
    ({'self_paced.mu': 1.}, 'mu'),
    ({'self_paced.protect_lst': True}, 'protect_lst'),
    ({'self_paced.min_weight': 2}, 'min_weight'),
    ({'heldout.ratio': 1.2}, 'ratio is 1.2: give a share'),
    ({'heldout.share': 0.2}, "Unknown key 'share' in heldout"),
    ({'total_batch_size': 2000}, 'fewer than the total batch of 2000'),
])
def test_options(refused, options, message):
    refused(message, **options)


@pytest.mark.parametrize('leaf, files', [
    ('ewc_mlp_permuted-mnist', ('train-images-idx3-ubyte', 'data_root')),
    ('ewc_small-vgg_cifar100', ('cifar-100-python/train',
                                      'data_root')),
    ('ewc_small-vgg_tiny-imagenet', ('tiny-imagenet-200.zip', 'train',
                                           'val', 'data_root')),
])
def test_missing_files_say_what_goes_where(refused, tmp_path, leaf, files):
    cfg = Config.fromfile(CONFIGS / f'ewc/{leaf}.py')
    cfg.data_root = str(tmp_path / 'nowhere')
    text = refused('data: ', cfg=cfg)
    assert all(part in text for part in (*files, cfg.data_root))


@pytest.mark.parametrize('psi, message', [
    ([63.1], 'divide it by 100'), ([0.4, 40.], 'divide it by 100'),
    ([float('nan')], 'holds NaN'), ([-.1], r'must lie in \[0, 1\]')])
def test_a_percent_is_no_fraction(psi, message):
    with pytest.raises(ValueError, match=message):
        difficulty(torch.tensor(psi))
    with pytest.raises(ValueError, match=message):
        priority_weights(torch.tensor(psi), mu=1.)


@pytest.mark.parametrize('method', ['finetune', 'lwf', 'blip'])
def test_no_penalty_to_weight(refused, method):
    refused('the method has none: choose', method,
            self_paced=dict(rule='spwc', k=1))


def test_a_task_that_has_no_head(tmp_path):
    cfg = digits(tmp_path / 'run', 'ewc', **{'scenario.heads': 'per_step'})
    out = step_config(cfg, scenario_of(cfg), 1)
    init_default_scope('mmpretrain')
    model = MODELS.build(out.model).eval()
    images = torch.zeros(1, 1, 32, 32)
    with pytest.raises(ValueError, match=r'of task 2, .* tasks \[0, 1\]'):
        model.predict(images, [DataSample(task=2)])
    with pytest.raises(ValueError, match='task of every image is needed'):
        model.predict(images)


def test_importances_of_another_network(tmp_path):
    small = digits(tmp_path / 'small', 'ewc', **TINY)
    wide = {**TINY, 'model.backbone.hidden': (20, 24)}
    cfg = digits(tmp_path / 'wide', 'ewc', **wide)
    for each in (small, cfg):
        train(each)
    # step 1 of the second run is to go on from the first one's store
    folder = Path(cfg.work_dir)
    for name in ('consolidation', 'step_01'):
        shutil.rmtree(folder / name)
    shutil.copytree(Path(small.work_dir) / 'consolidation',
                    folder / 'consolidation')
    record = Record.read(folder)
    del record.content['steps'][1:]
    record.content['status'] = 'running'
    record.write(folder)
    again = digits(folder, 'ewc', **wide, resume=True,
                   experiment_name='again')
    with pytest.raises(ValueError, match='backbone.layers.0.*shape'):
        train(again)
    assert Record.read(folder).finished_steps == [0]


def test_models_that_are_no_classifiers(refused):
    refused('model is a SegDataless; a sequence can be trained with '
            'mmpretrain configs of type ImageClassifier', 'finetune',
            **{'model.type': 'SegDataless'})
