"""Every leaf of the segmentation configs says what its name promises."""
import functools
import itertools
import re
from pathlib import Path

import pytest
import torch
from mmengine import registry
from mmengine.config import Config

from mmseg_spwc.engine import step_config
from mmseg_spwc.engine.config_keys import check_keys
from mmseg_spwc.models.rc_layers import DoubledConv
from mmseg_spwc.models.segmentors import ContinualEncoderDecoder
from mmseg_spwc.registry import MODELS
from mmseg_spwc.scenario import build_scenario

ROOT = Path(__file__).resolve().parents[1]
LEAVES = sorted(
    str(path.relative_to(ROOT)) for path in ROOT.glob('configs/*/*.py')
    if path.parent.name not in ('_base_', 'classification', 'sweeps'))
FOLDERS = {
    'finetune': 'finetune', 'ewc': 'ewc', 'ewc-mib': 'ewc', 'lwf': 'lwf',
    'lwf-mc': 'lwf_mc', 'ilt': 'ilt', 'mib': 'mib', 'plop': 'plop',
    'alife': 'alife', 'rcil': 'rcil', 'rcil-spwc': 'spwc',
    'mib-spwc': 'spwc', 'plop-spwc': 'spwc', 'ewc-spwc': 'spwc'
}
R101 = '{}_deeplabv3-r101-d16_b24-{}-512x512'


def path_of(method: str, data: str) -> str:
    return f'configs/{FOLDERS[method]}/{R101.format(method, data)}.py'


@functools.cache
def load(leaf: str) -> tuple:
    cfg = Config.fromfile(ROOT / leaf)
    cfg.work_dir = 'work'
    return cfg, build_scenario(cfg.scenario.to_dict())


@functools.cache
def step_of(leaf: str, step: int) -> Config:
    cfg, scenario = load(leaf)
    return step_config(cfg, scenario, step % scenario.num_steps)


def known(kind: str, name: str) -> bool:
    """Whether a type is found as MMEngine finds it, by the default scope."""
    root = getattr(registry, kind)
    with root.switch_scope_and_registry(None) as scoped:
        return scoped.get(name) is not None


def on_meta(leaf: str, step: int):
    # mmseg's transformers read numbers out of tensors while being built
    with torch.device('cpu' if 'segformer' in leaf else 'meta'):
        return MODELS.build(step_of(leaf, step).model)


def million(parameters) -> float:
    return round(sum(p.numel() for p in parameters) / 1e6, 2)


def test_every_method_has_every_scenario():
    voc = [f'30e_voc12aug-{name}-{setting}' for name, setting in
           itertools.product(('10-1', '15-1', '15-5', '19-1'), ('ov', 'dis'))]
    ade = [f'60e_ade20k-{name}-ov'
           for name in ('100-50', '100-10', '100-5', '50-50')]
    cities = [f'50e_cityscapes-domain-{name}'
              for name in ('11-5', '11-1', '1-1')]
    wanted = {path_of(m, d) for m in FOLDERS for d in voc + ade}
    # what is learnt at once has no setting
    wanted |= {f'configs/joint/{R101}.py'.format(
        'joint-offline', d.rpartition('-')[0]) for d in voc + ade}
    wanted |= {path_of(m, d) for m in ('finetune', 'plop', 'rcil')
               for d in cities}
    assert wanted <= set(LEAVES)
    small = {Path(leaf).stem.split('_')[0]
             for leaf in LEAVES if 'shapes-6-1' in leaf}
    assert small == {*FOLDERS, 'joint', 'joint-offline'}


def test_readmes_link_every_leaf():
    folders = {(ROOT / leaf).parent for leaf in LEAVES} - {
        ROOT / 'configs/demo'}
    for folder in folders:
        text = (folder / 'README.md').read_text()
        linked = {(folder / link).resolve()
                  for link in re.findall(r'\]\(([^)]*\.py)\)', text)}
        assert set(folder.glob('*.py')) <= linked
        assert all(path.exists() for path in linked)


@pytest.mark.parametrize('leaf', LEAVES)
def test_leaf(leaf):
    # one test, since reading a leaf takes longer than all the checks
    check_text(leaf)
    check_name(leaf)
    for step in (0, 1, -1):
        check_step(leaf, step)


def check_text(leaf):
    """A leaf is short and begins with the command that runs it."""
    lines = (ROOT / leaf).read_text().splitlines()
    assert lines[0] == f'# python tools/train.py {leaf}'
    assert len(lines) <= 15


def check_name(leaf):
    """The name tells scenario, method and schedule."""
    cfg, scenario = load(leaf)
    check_keys(cfg)
    stem = Path(leaf).stem
    assert f'-{scenario.name}' in stem
    assert cfg.scenario.dataset.split('_')[0] in stem
    assert ('-dis' in stem) == (scenario.setting == 'disjoint')
    assert ('spwc' in stem) == ('self_paced' in cfg)
    assert 'spWC' not in cfg.method.name  # the sequence adds it
    schedule = re.search(r'_b(\d+)-(\d+)e_', stem)
    if schedule:
        assert [cfg.total_batch_size, cfg.train_cfg.max_epochs] == [
            int(n) for n in schedule.groups()]
    crop = re.search(r'(\d+)x\d+$', stem)
    if crop:
        assert cfg.crop_size == int(crop[1])


def check_step(leaf, step):
    """All parts exist, and nothing of step 0 asks for a teacher."""
    _, scenario = load(leaf)
    out = step_of(leaf, step)
    assert out.model.channels == list(
        scenario.channels(step % scenario.num_steps))
    for hook in (*out.custom_hooks, *out.default_hooks.values()):
        assert known('HOOKS', hook.type)
    for loader in (out.train_dataloader, out.test_dataloader):
        assert known('DATASETS', loader.dataset.type)
        source = loader.dataset.dataset
        for part in source.get('datasets', [source]):
            assert known('DATASETS', part.type)
            assert all(known('TRANSFORMS', t.type) for t in part.pipeline)
    assert known('OPTIM_WRAPPERS', out.optim_wrapper.type)
    losses = {n: MODELS.build(loss)
              for n, loss in out.model.losses.items() if loss}
    asked = {a for loss in losses.values()
             for a in ContinualEncoderDecoder.arguments_of(loss)}
    assert 'pixel' in losses
    if step == 0:
        assert not any(name.startswith('old_') for name in asked)
        assert not out.model.get('pseudo_label')


def representatives() -> list:
    """One leaf for every method and model."""
    found = {}
    for leaf in LEAVES:
        method, model = Path(leaf).stem.split('_')[:2]
        model = 'r18' if 'shapes' in model else model
        found.setdefault((method, model), leaf)
    return list(found.values())


@pytest.mark.parametrize('leaf', representatives())
def test_model_of_the_second_step_is_built(leaf):
    model = on_meta(leaf, 1)
    assert len(model.decode_head.conv_seg.convs) == 2


@pytest.mark.parametrize('method', FOLDERS)
def test_r101_has_the_published_size(method):
    model = on_meta(path_of(method, '30e_voc12aug-10-1-ov'), -1)
    if method.startswith('rcil'):
        assert million(model.parameters()) == 94.08
        assert million(
            p for p in model.parameters() if not p.requires_grad) == 36.04
        model.to_plain()
    assert model.decode_head.num_classes == 21
    assert million(model.parameters()) == 58.04


def test_rcil_doubles_the_depthwise_convolutions_of_mobilenet():
    leaf = next(leaf for leaf in LEAVES if '/rcil_deeplabv3-mobilenet' in leaf)
    model = on_meta(leaf, 1)
    depthwise = [m for m in model.backbone.modules()
                 if isinstance(m, torch.nn.Conv2d) and m.groups > 1]
    doubled = [m for m in model.modules() if isinstance(m, DoubledConv)]
    assert len(depthwise) == 2 * 17
    assert {id(m.old) for m in doubled} <= {
        id(m) for m in (*depthwise, *model.decode_head.modules())}
    assert len(doubled) == 17 + 4


@pytest.mark.parametrize('method, data, first, later', [
    ('mib', '30e_voc12aug-10-1-ov', 0.01, 0.001),
    ('rcil', '30e_voc12aug-10-1-ov', 0.02, 0.001),
    ('rcil-spwc', '30e_voc12aug-10-1-dis', 0.02, 0.001),
    ('rcil', '60e_ade20k-100-10-ov', 0.01, 0.001),
    ('plop', '50e_cityscapes-domain-11-5', 0.01, 0.001),
    ('rcil', '50e_cityscapes-domain-11-5', 0.02, 0.002),
    ('rcil', '50e_cityscapes-domain-11-1', 0.02, 0.004),
    ('rcil', '50e_cityscapes-domain-1-1', 0.02, 0.002),
])
def test_published_learning_rates(method, data, first, later):
    rates = [step_of(path_of(method, data), step).optim_wrapper.optimizer.lr
             for step in (0, 1, -1)]
    assert rates == [first, later, later]


@pytest.mark.parametrize('name, expected', [
    ('30e_voc12aug-19-1-ov', [(1, 1, 5)]),
    ('30e_voc12aug-15-5-dis', [(2, 1, 10)]),
    ('30e_voc12aug-15-1-ov',
     [(3, 1, 10), (5, 10, 5), (2, 1, 5), (3, 10, 5), (2, 1, 5)]),
    ('60e_ade20k-100-50-ov', [(1, 1, 60)]),
    ('60e_ade20k-100-10-ov', [(1, 1, 60)] * 5),
    ('60e_ade20k-50-50-ov', [(1, 20, 60)] * 2),
])
def test_published_factors_of_alife(name, expected):
    steps = [step_of(path_of('alife', name), i + 1)
             for i in range(len(expected))]
    assert [(s.model.losses.ali.loss_weight, s.model.losses.kd.loss_weight,
             s.train_cfg.max_epochs) for s in steps] == expected


@pytest.mark.parametrize('data, cube, pod', [
    ('30e_voc12aug-15-1-ov', ((.01, .0005), (.01, .0005)), (.01, .0005)),
    ('60e_ade20k-100-5-ov', ((5e-6, 5e-7), (5e-6, 5e-7)), (1e-3, 1e-5)),
    ('50e_cityscapes-domain-1-1', ((5e-4, 1e-4), (1e-4, 0)), (1e-4, 1e-3)),
    ('50e_cityscapes-domain-11-1', ((5e-4, 1e-4), (1e-4, 0)), (1e-4, 1e-4)),
])
def test_published_factors_of_feature_distillation(data, cube, pod):
    loss = MODELS.build(step_of(path_of('rcil', data), 1).model.losses.cube)
    assert (loss.factors, loss.channel_factors) == cube
    loss = MODELS.build(step_of(path_of('plop', data), 1).model.losses.pod)
    assert (loss.factor, loss.last_factor) == pod


def test_new_domains_need_no_old_labels():
    for method, name in (('rcil', 'cube'), ('plop', 'pod')):
        out = step_of(path_of(method, '50e_cityscapes-domain-11-5'), 1)
        losses = {n: loss.type for n, loss in out.model.losses.items() if loss}
        assert set(losses) == {'pixel', name}
        assert losses['pixel'] == 'mmseg_spwc.PixelCrossEntropyLoss'
        assert not out.model.get('pseudo_label')
        assert 'PseudoLabelHook' not in str(out.custom_hooks)


def test_spwc_keeps_the_papers_15_units():
    for setting in ('ov', 'dis'):
        cfg, _ = load(path_of('rcil-spwc', f'30e_voc12aug-10-1-{setting}'))
        assert cfg.self_paced.to_dict() == dict(rule='spwc', k=15)
