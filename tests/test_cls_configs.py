"""Every leaf of the classification configs says what its name promises."""
import functools
import math
from pathlib import Path

import pytest
import torch
from mmengine import registry
from mmengine.config import Config
from mmengine.registry import init_default_scope

import mmseg_spwc.classification  # noqa: F401
from mmseg_spwc.config.keys import check_keys, check_values
from mmseg_spwc.config.step import scenario_of
from mmseg_spwc.engine import step_config
from mmseg_spwc.models.quantities import of_teacher
from mmseg_spwc.registry import MODELS

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / 'configs' / 'classification'
LEAVES = sorted(
    str(path.relative_to(ROOT)) for path in FOLDER.glob('*/*.py')
    if path.parent.name != '_base_')
FOLDERS = {
    'finetune': 'finetune', 'joint': 'joint', 'ewc': 'ewc',
    'online-ewc': 'ewc', 'lwf': 'lwf', 'si': 'si', 'mas': 'mas',
    'blip': 'blip', 'er': 'er', 'ewc-spwc': 'spwc', 'mas-spwc': 'spwc'
}
# tasks, parameters of the trunk and of a step's head
DATA = {
    'mlp_permuted-digits': (10, 570_400, 4_010),
    'mlp_permuted-mnist': (10, 570_400, 4_010),
    'small-vgg_cifar100': (10, 416_192, 1_290),
    'small-vgg_tiny-imagenet': (10, 612_800, 2_580),
}
# of which not every method has a leaf
MORE_DATA = {'mlp_permuted-mnist-fashion': (10, 570_400, 4_010)}
# as published, at the last step
SIZES = {
    'mlp_permuted-mnist-fashion': 574_410,
    'mlp_permuted-digits': 574_410,
    'mlp_permuted-mnist': 574_410,
    'small-vgg_cifar100': 429_092,
    'small-vgg_tiny-imagenet': 638_600,
}


@pytest.fixture(autouse=True)
def mmpretrain_scope():
    init_default_scope('mmpretrain')


@functools.cache
def load(leaf: str, *options: tuple) -> tuple:
    cfg = Config.fromfile(ROOT / leaf)
    cfg.merge_from_dict(dict(options))
    cfg.work_dir = 'work'
    return cfg, scenario_of(cfg)


@functools.cache
def step_of(leaf: str, step: int, *options: tuple) -> Config:
    cfg, scenario = load(leaf, *options)
    return step_config(cfg, scenario, step % scenario.num_steps)


def path_of(method: str, data: str) -> str:
    return f'configs/classification/{FOLDERS[method]}/{method}_{data}.py'


def known(kind: str, name: str) -> bool:
    """Whether a type is found as MMEngine finds it, by the default scope."""
    root = getattr(registry, kind)
    with root.switch_scope_and_registry(None) as scoped:
        return scoped.get(name) is not None


def parameters(leaf: str, step: int, *options: tuple) -> int:
    with torch.device('meta'):
        model = MODELS.build(step_of(leaf, step, *options).model)
    return sum(p.numel() for p in model.parameters())


def test_every_method_has_every_data_set():
    wanted = {path_of(method, data) for method in FOLDERS for data in DATA}
    assert wanted <= set(LEAVES)


@pytest.mark.parametrize('leaf', LEAVES)
def test_leaf(leaf):
    check_name(leaf)
    for step in (0, 1, -1):
        check_step(leaf, step)
    check_sizes(leaf)


def check_name(leaf):
    cfg, scenario = load(leaf)
    check_keys(cfg)
    check_values(cfg)
    assert cfg.default_scope == 'mmpretrain'
    method, model, data = Path(leaf).stem.split('_')
    assert model == {'MLPBackbone': 'mlp', 'SmallVGG': 'small-vgg'}[
        cfg.model.backbone.type.split('.')[1]]
    name = scenario.dataset.replace('_', '-')
    assert data.startswith(name)
    kind = 'domain' if 'permuted' in data else 'task'
    assert scenario.kind == kind
    assert (scenario.heads == 'per_step') == (kind == 'task')
    assert ('spwc' in method) == ('self_paced' in cfg)
    plain = method.split('-spwc')[0]
    assert cfg.method.name.lower() in (plain, 'joint (once)')


def check_step(leaf, step):
    _, scenario = load(leaf)
    out = step_of(leaf, step)
    assert out.model.channels == list(
        scenario.channels(step % scenario.num_steps))
    for hook in (*out.custom_hooks, *filter(None, out.default_hooks.values())):
        assert known('HOOKS', hook.type)
    for loader in (out.train_dataloader, out.val_dataloader,
                   out.test_dataloader):
        assert known('DATASETS', loader.dataset.type)
        assert known('DATASETS', loader.dataset.dataset.type)
        assert known('FUNCTIONS', loader.collate_fn.type)
    assert known('OPTIM_WRAPPERS', out.optim_wrapper.type)
    assert known('EVALUATOR', out.test_evaluator.type)
    losses = {n: MODELS.build(loss)
              for n, loss in out.model.losses.items() if loss}
    student = MODELS.get(out.model.type)
    asked = {a for loss in losses.values()
             for a in student.arguments_of(loss)}
    assert 'cls' in losses
    if step == 0:
        assert not asked & of_teacher(student.quantities)


def check_sizes(leaf):
    data = Path(leaf).stem.partition('_')[2]
    tasks, trunk, head = (DATA | MORE_DATA)[data]
    _, scenario = load(leaf)
    assert scenario.num_steps == tasks
    for step in (0, 1):
        heads = 1 if 'permuted' in data else step + 1
        assert parameters(leaf, step) == trunk + heads * head
    assert parameters(leaf, -1) == SIZES[data]


def test_other_heads_and_numbers_of_tasks():
    leaf = path_of('ewc', 'mlp_permuted-mnist')
    assert parameters(leaf, -1, ('scenario.heads', 'per_step')) == 610_500
    leaf = path_of('lwf', 'small-vgg_cifar100')
    assert parameters(leaf, -1, ('scenario.kind', 'class')) == 429_092
    options = ('scenario.name', '20x5')
    assert load(leaf, options)[1].num_steps == 20
    assert step_of(leaf, 1, options).model.losses.kd.loss_weight == 10


@pytest.mark.parametrize('data', ['mlp_permuted-mnist',
                                  'small-vgg_cifar100',
                                  'small-vgg_tiny-imagenet'])
def test_splits_are_the_papers(data):
    """40 000 + 10 000 of MNIST, 400 + 100 images a class of the others."""
    cfg, _ = load(path_of('ewc', data))
    assert cfg.heldout.to_dict() == dict(ratio=0.2)
    limit = cfg.train_dataloader.dataset.get('limit')
    assert limit == (50_000 if 'mnist' in data else None)


def test_data_are_looked_for_where_the_variable_says(monkeypatch):
    monkeypatch.setenv('MMSEG_SPWC_DATA', '/sets')
    for data, name in (('mnist', 'mnist'), ('cifar100', 'cifar100'),
                       ('tiny_imagenet', 'tiny-imagenet-200')):
        path = FOLDER / f'_base_/datasets/{data}.py'
        assert Config.fromfile(path).data_root == f'/sets/{name}'
    monkeypatch.delenv('MMSEG_SPWC_DATA')
    assert Config.fromfile(path).data_root == f'data/{name}'


def hook_of(leaf: str) -> Config:
    hooks = step_of(leaf, 1).custom_hooks
    return next(h for h in hooks if 'ConsolidationHook' in h.type)


@pytest.mark.parametrize('method, half, form, mlp, vgg', [
    ('ewc', True, 'per_step', 100, 800),
    ('online-ewc', True, dict(type='online', decay=1.), 100, 800),
    ('mas', False, 'online', 0.05, 3),
    ('si', False, 'online', 5, 400),
    ('ewc-spwc', True, 'per_step', 100, 800),
    ('mas-spwc', False, 'per_step', 0.05, 3),
])
def test_factors_of_the_methods(method, half, form, mlp, vgg):
    for data in DATA:
        hook = hook_of(path_of(method, data))
        strength = mlp if data.startswith('mlp') else vgg
        assert (hook.half, hook.form, hook.strength) == (half, form, strength)


def test_lwf_counts_a_shared_head_once_for_every_old_task():
    for data in DATA:
        kd = step_of(path_of('lwf', data), 1).model.losses.kd
        mlp = data.startswith('mlp')
        assert kd.get('scale_by_tasks', False) == mlp
        assert kd.loss_weight == (1 if mlp else 10)


def test_orders_and_splits_follow_the_runs_seed():
    cfg, _ = load(path_of('ewc', 'small-vgg_cifar100'))
    orders = []
    for seed in (1, 1, 2):
        other = cfg.copy()
        other.merge_from_dict({'randomness.seed': seed})
        scenario = scenario_of(other)
        orders.append((scenario.seed, scenario.steps))
    assert orders[0] == orders[1]
    assert orders[0][0] == 1 and orders[2][0] == 2
    assert orders[0][1] != orders[2][1]


def test_age_of_spwc_plus_is_the_easiness_of_90_percent():
    cfg, _ = load(
        'configs/classification/spwc/'
        'ewc-spwc-plus_mlp_permuted-mnist-fashion.py')
    assert cfg.self_paced.mu == pytest.approx(
        -0.9 * math.log(1 - 0.9), abs=1e-4)
