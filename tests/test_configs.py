"""Every leaf of the segmentation configs says what its name promises."""
import functools
import re
from pathlib import Path

import pytest
import torch
from mmengine import registry
from mmengine.config import Config

from mmseg_spwc.config.keys import check_keys
from mmseg_spwc.engine import step_config
from mmseg_spwc.models.pseudo_label import PseudoLabeller
from mmseg_spwc.models.quantities import of_teacher
from mmseg_spwc.models.rc_layers import DoubledConv
from mmseg_spwc.models.segmentor import ContinualEncoderDecoder
from mmseg_spwc.models.taps import OldPass
from mmseg_spwc.registry import MODELS
from mmseg_spwc.scenario import Scenario, build_scenario

ROOT = Path(__file__).resolve().parents[1]
LEAVES = sorted(
    str(path.relative_to(ROOT)) for path in ROOT.glob('configs/*/*.py')
    if path.parent.name not in ('_base_', 'classification', 'sweeps'))
FOLDERS = {
    'finetune': 'finetune', 'joint-offline': 'joint', 'ewc': 'ewc',
    'ewc-mib': 'ewc', 'lwf': 'lwf', 'lwf-mc': 'lwf_mc', 'ilt': 'ilt',
    'mib': 'mib', 'plop': 'plop', 'alife': 'alife', 'alife-m': 'alife',
    'rcil': 'rcil', 'rcil-spwc': 'spwc',
    'finetune-memory': 'finetune', 'mib-augm': 'mib'
}
# on VOC and shapes alone
NEWER = {'dft': 'dft', 'mib-ewf': 'ewf', 'plop-ewf': 'ewf',
         'rcil-ewf': 'ewf', 'reminder': 'reminder', 'lgkd': 'lgkd',
         'mib-lgkd': 'lgkd', 'dkd': 'dkd', 'ucd': 'ucd',
         'mib-nest': 'nest', 'dkd-m': 'dkd', 'ssul': 'ssul',
         'ssul-m': 'ssul', 'sdr': 'sdr'}
TRANSFORMERS = re.compile('segformer|upernet-swin')
R101 = 'deeplabv3-r101-d16'
VOC, ADE = 'voc12aug-512x512', 'ade20k-512x512'
CITIES = 'cityscapes-domain-512x512'
# what the tables of papers have
SCENARIOS = {
    'voc': ('19-1', '15-5', '15-1', '10-1'),
    'ade': ('100-50', '100-10', '100-5', '50-50'),
    'cityscapes': ('14-5', ),
    'cityscapes_domain': ('11-5', '11-1', '1-1'),
    'shapes': ('6-1', )
}


def path_of(method: str, data: str) -> str:
    folder = {**FOLDERS, **NEWER}[method]
    return f'configs/{folder}/{method}_{R101}_{data}.py'


@functools.cache
def load(leaf: str) -> Config:
    cfg = Config.fromfile(ROOT / leaf)
    cfg.work_dir = 'work'
    return cfg


def scenario_in(leaf: str, name: str | None = None) -> Scenario:
    given = load(leaf).scenario.to_dict()
    return build_scenario({**given, 'name': name or given['name']})


@functools.cache
def step_of(leaf: str, step: int, name: str | None = None) -> Config:
    scenario = scenario_in(leaf, name)
    return step_config(load(leaf), scenario, step % scenario.num_steps)


def known(kind: str, name: str) -> bool:
    """Whether a type is found as MMEngine finds it, by the default scope."""
    root = getattr(registry, kind)
    with root.switch_scope_and_registry(None) as scoped:
        return scoped.get(name) is not None


def on_meta(leaf: str, step: int):
    # mmseg's transformers read numbers out of tensors while being built
    with torch.device('cpu' if TRANSFORMERS.search(leaf) else 'meta'):
        return MODELS.build(step_of(leaf, step).model)


def million(parameters) -> float:
    return round(sum(p.numel() for p in parameters) / 1e6, 2)


def test_every_method_has_its_data_sets():
    wanted = {path_of(m, d) for m in FOLDERS for d in (VOC, ADE)}
    wanted |= {path_of(m, CITIES) for m in ('finetune', 'plop', 'rcil')}
    wanted |= {f'configs/{f}/{m}_{R101}_{VOC}.py' for m, f in NEWER.items()}
    assert wanted <= set(LEAVES)
    small = {Path(leaf).stem.split('_')[0]
             for leaf in LEAVES if 'shapes' in leaf}
    assert small == {*FOLDERS, 'joint', 'online-ewc', 'mas', 'si',
                     'ewc-spwc', 'mib-ewf-fisher', 'mib-ewf-spwc',
                     'mib-augm-spwc', *NEWER} - {'joint-offline'}


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
    check_name(leaf)
    for name in SCENARIOS[load(leaf).scenario.dataset]:
        for step in (0, 1, -1):
            check_step(leaf, step, name)


def check_name(leaf):
    """The name tells method, data and crop, and the scenario is open."""
    cfg = load(leaf)
    check_keys(cfg)
    stem = Path(leaf).stem
    assert cfg.scenario.name in SCENARIOS[cfg.scenario.dataset]
    assert cfg.scenario.dataset.replace('_', '-') in stem
    assert ('spwc' in stem) == ('self_paced' in cfg)
    assert 'spWC' not in cfg.method.name  # the sequence adds it
    crop = re.search(r'(\d+)x\d+$', stem)
    if crop:
        assert cfg.crop_size == int(crop[1])


def check_step(leaf, step, name):
    """All parts exist, and nothing of step 0 asks for a teacher."""
    scenario = scenario_in(leaf, name)
    out = step_of(leaf, step, name)
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
        assert not asked & of_teacher(ContinualEncoderDecoder.quantities)
        assert not out.model.get('pseudo_label')


def representatives() -> list:
    """One leaf for every method and model; of transformers, one of each."""
    found = {}
    for leaf in LEAVES:
        method, model = Path(leaf).stem.split('_')[:2]
        model = 'r18' if model.startswith('shapes') else model
        method = None if TRANSFORMERS.match(model) else method
        found.setdefault((method, model), leaf)
    return list(found.values())


@pytest.mark.parametrize('leaf', representatives())
def test_model_of_the_second_step_is_built(leaf):
    model = on_meta(leaf, 1)
    assert len(model.decode_head.conv_seg.channels) == 2


@pytest.mark.parametrize('method', FOLDERS)
def test_r101_has_the_published_size(method):
    model = on_meta(path_of(method, VOC), -1)
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


@pytest.mark.parametrize('method, data, name, first, later', [
    ('mib', VOC, '10-1', 0.01, 0.001),
    ('rcil', VOC, '10-1', 0.02, 0.001),
    ('rcil', VOC, '15-1b', 0.02, 0.001),
    ('rcil-spwc', VOC, '10-1', 0.02, 0.001),
    ('rcil', ADE, '100-10', 0.01, 0.001),
    ('plop', CITIES, '11-5', 0.01, 0.001),
    ('rcil', CITIES, '11-5', 0.02, 0.002),
    ('rcil', CITIES, '11-1', 0.02, 0.004),
    ('rcil', CITIES, '1-1', 0.02, 0.002),
    ('dft', VOC, '15-1', 0.02, 0.0005),
    ('dft', VOC, '10-1', 0.02, 0.0005),
    ('dft', VOC, '15-5', 0.02, 0.02),
    ('dft', VOC, '19-1', 0.02, 0.005),
    ('dkd', VOC, '15-1', 0.001, 0.0001),
    ('ssul', VOC, '15-1', 0.001, 0.01),
])
def test_published_learning_rates(method, data, name, first, later):
    leaf = path_of(method, data)
    rates = [step_of(leaf, step, name).optim_wrapper.optimizer.lr
             for step in (0, 1, -1)]
    assert rates == [first, later, later]


@pytest.mark.parametrize('method, data, name, first, later', [
    ('mib', VOC, '10-1', 30, 30), ('plop', VOC, '15-1', 30, 30),
    ('plop', VOC, '10-1', 30, 10), ('plop', ADE, '50-50', 60, 60),
    ('rcil', CITIES, '11-1', 50, 50), ('dkd', VOC, '15-5', 60, 60),
    ('ssul', VOC, '10-1', 50, 50),
])
def test_published_epochs(method, data, name, first, later):
    leaf = path_of(method, data)
    assert [step_of(leaf, step, name).train_cfg.max_epochs
            for step in (0, 1, -1)] == [first, later, later]
    assert load(leaf).total_batch_size == 24


@pytest.mark.parametrize('name, weight', [
    ('19-1', 10), ('15-5', 10), ('15-1', 100), ('15-1w', 100), ('10-1', 10)])
def test_published_weight_of_mib(name, weight):
    out = step_of(path_of('mib', VOC), 1, name)
    assert out.model.losses.kd.loss_weight == weight


@pytest.mark.parametrize('data, name, expected', [
    (VOC, '19-1', [(1, 1, 5)]),
    (VOC, '15-5', [(2, 1, 10)]),
    (VOC, '15-1',
     [(3, 1, 10), (5, 10, 5), (2, 1, 5), (3, 10, 5), (2, 1, 5)]),
    (ADE, '100-50', [(1, 1, 60)]),
    (ADE, '100-10', [(1, 1, 60)] * 5),
    (ADE, '50-50', [(1, 20, 60)] * 2),
])
@pytest.mark.parametrize('method', ['alife', 'alife-m'])
def test_published_factors_of_alife(method, data, name, expected):
    steps = [step_of(path_of(method, data), i + 1, name)
             for i in range(len(expected))]
    assert [(s.model.losses.ali.loss_weight, s.model.losses.kd.loss_weight,
             s.train_cfg.max_epochs) for s in steps] == expected


@pytest.mark.parametrize('name, prev, novel', [
    ('19-1', 5, .5), ('15-5', 5, 1), ('15-1', 1, 0), ('10-1', 10, 2)])
@pytest.mark.parametrize('method', ['lgkd', 'mib-lgkd'])
def test_published_factors_of_lgkd(method, name, prev, novel):
    loss = step_of(path_of(method, VOC), 1, name).model.losses.lgkd
    assert (loss.prev, loss.novel) == (prev, novel)


def test_published_weight_of_ewf_on_mib():
    for name in ('15-1', '10-1', '19-1'):
        out = step_of(path_of('mib-ewf', VOC), 1, name)
        assert out.model.losses.kd.loss_weight == 10
        assert out.model.frozen == 'old_rows'
    assert step_of(path_of('plop-ewf', VOC), 1, '10-1').train_cfg.max_epochs \
        == 30


@pytest.mark.parametrize('data, name, cube, pod', [
    (VOC, '15-1', ((.01, .0005), (.01, .0005)), (.01, .0005)),
    (ADE, '100-5', ((5e-6, 5e-7), (5e-6, 5e-7)), (1e-3, 1e-5)),
    (CITIES, '1-1', ((5e-4, 1e-4), (1e-4, 0)), (1e-4, 1e-3)),
    (CITIES, '11-1', ((5e-4, 1e-4), (1e-4, 0)), (1e-4, 1e-4)),
])
def test_published_factors_of_feature_distillation(data, name, cube, pod):
    losses = step_of(path_of('rcil', data), 1, name).model.losses
    loss = MODELS.build(losses.cube)
    assert (loss.factors, loss.channel_factors) == cube
    losses = step_of(path_of('plop', data), 1, name).model.losses
    loss = MODELS.build(losses.pod)
    assert (loss.factor, loss.last_factor) == pod


def test_new_domains_need_no_old_labels():
    for method, name in (('rcil', 'cube'), ('plop', 'pod')):
        out = step_of(path_of(method, CITIES), 1)
        losses = {n: loss.type for n, loss in out.model.losses.items() if loss}
        assert set(losses) == {'pixel', name}
        assert losses['pixel'] == 'mmseg_spwc.PixelCrossEntropyLoss'
        assert not out.model.get('pseudo_label')
        assert 'PseudoLabelHook' not in str(out.custom_hooks)


def test_spwc_keeps_the_papers_15_units():
    for leaf in LEAVES:
        if '/rcil-spwc_' in leaf:
            own = load(leaf).self_paced.to_dict()
            assert own.pop('background', 'keep') == 'keep'
            own.pop('name', None)
            assert own == dict(rule='spwc', k=15)


def test_authors_code_builds_on_the_published_rcil():
    paced = f'configs/spwc/rcil-spwc-authors-code_{R101}_{VOC}.py'
    published = f'configs/rcil/rcil-compat_{R101}_{VOC}.py'
    assert load(paced).self_paced.rule == 'authors_code'
    for step in (0, 1, -1):
        ours, theirs = (step_of(leaf, step, '10-1').to_dict()
                        for leaf in (paced, published))
        ours['model'].pop('pseudo_label', None)
        for part in ('model', 'optim_wrapper', 'param_scheduler',
                     'train_cfg', 'train_dataloader'):
            assert ours[part] == theirs[part]
        # spWC also asks for the teacher that the losses ask for
        hooks = [{k: v for k, v in hook.items() if k != 'teacher'}
                 for hook in ours['custom_hooks']
                 if hook['type'] != 'mmseg_spwc.SelfPacedHook']
        hooks[0].pop('teacher', None)  # spWC asks for it, PLOP's labels too
        assert hooks == theirs['custom_hooks']


def test_authors_code_drops_images_without_background():
    """Else every background pixel counts, however unsure it is."""
    paced = f'configs/spwc/rcil-spwc-authors-code_{R101}_{VOC}.py'
    labeller = PseudoLabeller(**step_of(paced, 1, '10-1').model.pseudo_label)
    old = torch.randn(3, 11, 4, 4, generator=torch.Generator().manual_seed(0))
    old[0] = 0  # as unsure as can be
    given = torch.zeros(3, 4, 4, dtype=torch.long)
    given[1, :2], given[1, 0, 0], given[2] = 11, 255, 11
    labels, share = labeller(OldPass(logits=old), given, 11)
    assert share.tolist() == pytest.approx([1, 1, 0])
    background = given == 0
    assert torch.equal(labels[background],
                       old.argmax(1)[background])
    assert torch.equal(labels[~background], given[~background])
