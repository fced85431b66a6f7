"""Tasks, classes and domains, of small images and of ordinary datasets."""
from pathlib import Path

import numpy as np
import pytest
import torch
from digit_runs import (
    CONFIGS,
    digits,
    train,
    weights,
)
from mmengine.config import Config
from mmengine.registry import init_default_scope
from PIL import Image

from mmseg_spwc.consolidation import StepStore
from mmseg_spwc.datasets.images.idx import DigitImages
from mmseg_spwc.engine import ContinualRunner, step_config
from mmseg_spwc.problems import problem_of
from mmseg_spwc.registry import DATASETS
from mmseg_spwc.scenario import build_scenario

STEPS = [[3, 1, 4], [0, 5, 9], [2, 6, 7, 8]]


@DATASETS.register_module(force=True)
class MirroredDigits(DigitImages):
    """The digits as a mirror shows them."""

    def __init__(self, split: str = 'train') -> None:
        super().__init__(split)
        self.images = self.images.flip(-1)


@pytest.fixture
def split(tmp_path):
    """Ten digits split into three tasks."""

    def make(method, kind, **options):
        cfg = digits(tmp_path / method, method, **{
            'train_cfg.max_epochs': 3, 'total_batch_size': 32, **options})
        cfg.scenario = dict(problem='classification', dataset='digits',
                            kind=kind, steps=STEPS, num_classes=10)
        return cfg

    return make


def heads(cfg, step) -> dict:
    return {k: v for k, v in weights(cfg, step).items()
            if k.startswith('head.')}


def test_a_head_for_every_task(split):
    cfg = split('ewc', 'task')
    record = train(cfg)
    assert [len(s['classes']) for s in record.steps] == [3, 6, 10]
    assert record.steps[2]['class_ids'] == [3, 1, 4, 0, 5, 9, 2, 6, 7, 8]
    # only the task's own channels compete: each is learnt when it comes
    assert all(s['accuracy_by_step'][-1] > 0.8 for s in record.steps)
    store = StepStore(f'{cfg.work_dir}/consolidation')
    for step in range(3):
        own = {f'head.fc.linears.{step}.{kind}' for kind in ('weight', 'bias')}
        measured = {n for n in store.load(step)[0] if n.startswith('head.')}
        assert measured == own
        assert len(heads(cfg, step)) == 2 * (step + 1)
        for name in own:
            for later in range(step + 1, 3):
                assert torch.equal(heads(cfg, later)[name],
                                   heads(cfg, step)[name])


def test_distillation_trains_the_old_heads_too(split):
    cfg = split('lwf', 'task')
    train(cfg)
    before, after = heads(cfg, 0), heads(cfg, 1)
    assert all(not torch.equal(after[name], before[name]) for name in before)


def test_one_head_grows_with_the_classes(split):
    record = train(split('finetune', 'class', **{'train_cfg.max_epochs': 6}))
    assert [len(s['classes']) for s in record.steps] == [3, 6, 10]
    rows = [s['accuracy_by_step'] for s in record.steps]
    # the newest classes win over all others
    assert rows[2][2] > 0.5 and rows[2][0] == rows[2][1] == 0
    images = [s['images'] for s in record.steps]
    assert images[2]['test'] == 359
    assert sum(i['train'] for i in images) == 1150
    entry = record.step(2)
    hits = sum(a * n for a, n in zip(rows[2], sizes_of_tests(), strict=True))
    assert entry['accuracy']['all'] == pytest.approx(hits / 359)
    joint = split('joint', 'class', **{'train_cfg.max_epochs': 6})
    assert min(train(joint).step(2)['accuracy_by_step']) > 0.6


def sizes_of_tests() -> list:
    labels = DigitImages('test').labels
    return [sum(int((labels == c).sum()) for c in step) for step in STEPS]


def test_permuted_digits_with_a_head_each(tmp_path):
    cfg = digits(tmp_path / 'run', 'ewc', **{'scenario.heads': 'per_step'})
    record = train(cfg)
    assert [len(s['classes']) for s in record.steps] == [10, 20, 30]
    assert record.steps[1]['classes'][8:12] == ['8@0', '9@0', '0@1', '1@1']
    assert record.step(2)['parameters'] == 25_450 + 2 * 250
    assert torch.equal(heads(cfg, 0)['head.fc.linears.0.weight'],
                       heads(cfg, 2)['head.fc.linears.0.weight'])


def test_a_data_set_for_every_domain(tmp_path):
    cfg = digits(tmp_path / 'run', 'online-ewc', **{
        'train_cfg.max_epochs': 6})
    cfg.scenario = dict(problem='classification', dataset='digits',
                        kind='domain', steps=[['plain'], ['mirrored']],
                        num_classes=10)
    for loader in (cfg.train_dataloader, cfg.test_dataloader):
        name = loader.dataset.split
        loader.dataset = dict(
            type='ConcatDataset',
            datasets=[dict(type='mmseg_spwc.DigitImages', split=name),
                      dict(type='mmseg_spwc.MirroredDigits', split=name)])
    record = train(cfg)
    assert [s['images']['train'] for s in record.steps] == [1150, 1150]
    assert [s['images']['test'] for s in record.steps] == [359, 718]
    assert all(s['accuracy_by_step'][-1] > 0.7 for s in record.steps)
    assert record.step(1)['parameters'] == 25_450


def write_folders(root: Path) -> None:
    """Four classes of 15 images: colours with noise, 20 px."""
    rng = np.random.default_rng(0)
    colours = dict(blue=(0, 0, 1), green=(0, 1, 0), grey=(1, 1, 1),
                   red=(1, 0, 0))
    for split, count in (('train', 15), ('test', 5)):
        for name, colour in colours.items():
            folder = root / split / name
            folder.mkdir(parents=True)
            for i in range(count):
                noise = rng.integers(0, 60, (20, 20, 3))
                image = 150 * np.array(colour) + noise
                Image.fromarray(image.astype(np.uint8)).save(
                    folder / f'{i}.png')


LEAF = """
_base_ = [
    'mmpretrain::_base_/models/resnet18_cifar.py',
    '{configs}/_base_/methods/lwf.py',
    '{configs}/_base_/default_runtime.py',
]
model = dict(backbone=dict(stem_channels=8, base_channels=8),
             head=dict(num_classes=4, in_channels=64),
             data_preprocessor=dict(mean=[128] * 3, std=[64] * 3))
scenario = dict(problem='classification', dataset='colours', kind='task',
                steps=[[3, 0], [1, 2]], num_classes=4)
load = [dict(type='LoadImageFromFile'), dict(type='Resize', scale=16)]
pack = dict(type='PackInputs')
flip = dict(type='RandomFlip', prob=0.5, direction='horizontal')
data_root = '{root}'
total_batch_size = 6
train_dataloader = dict(num_workers=0, dataset=dict(
    type='CustomDataset', data_prefix='train', pipeline=[*load, flip, pack]))
test_dataloader = dict(num_workers=0, batch_size=3, dataset=dict(
    type='CustomDataset', data_prefix='test', pipeline=[*load, pack]))
test_evaluator = dict(type='Accuracy', topk=(1, ))
optim_wrapper = dict(optimizer=dict(type='SGD', lr=0.02, momentum=0.9))
train_cfg = dict(by_epoch=True, max_epochs=3)
work_dir = '{root}/run'
"""


def test_a_split_of_ones_own_of_an_ordinary_data_set(tmp_path):
    write_folders(tmp_path)
    leaf = tmp_path / 'lwf_resnet18_colours.py'
    leaf.write_text(LEAF.format(root=tmp_path, configs=CONFIGS))
    cfg = Config.fromfile(leaf)
    record = train(cfg)
    entry = record.step(1)
    assert entry['classes'] == ['red', 'blue', 'green', 'grey']
    assert entry['images'] == dict(train=24, heldout=12, test=20)
    assert min(entry['accuracy_by_step']) > 0.5
    state = weights(cfg, 1)
    assert state['head.fc.linears.1.weight'].shape == (2, 64)
    log, = Path(cfg.work_dir, 'step_01').glob('*/*.log')
    assert 'loss_kd: ' in log.read_text()
    # mmpretrain's metric is scored beside ours, on the same samples
    scores = ContinualRunner(cfg).test(f'{cfg.work_dir}/step_01/final.pth')
    assert scores['accuracy'] == entry['accuracy']
    top1 = 100 * entry['accuracy']['all']
    assert f'accuracy/top1: {top1:.4f}' in log.read_text()


def test_joint_training_of_an_ordinary_data_set_is_cumulative(tmp_path):
    write_folders(tmp_path)
    leaf = tmp_path / 'joint.py'
    text = LEAF.replace('methods/lwf.py', 'methods/joint.py')
    leaf.write_text(text.format(root=tmp_path, configs=CONFIGS))
    cfg = Config.fromfile(leaf)
    scenario = build_scenario(cfg.scenario.to_dict())
    init_default_scope('mmpretrain')
    configs = {t: step_config(cfg, scenario, t) for t in range(2)}
    counts, facts = problem_of(scenario).count(configs, scenario)
    assert [counts[t]['train'] for t in range(2)] == [24, 48]
    assert facts['split']['heldout'] == 12
