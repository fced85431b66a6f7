"""Every leaf at full size, on a device that computes nothing.

As on a GPU, tensors of two devices in one operation are refused, and so is
what waits for the device: reading a number, choosing pixels by a mask.
"""
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmseg.models import SegDataPreProcessor
from packaging.version import Version

from mmseg_spwc.config.step import scenario_of, step_config
from mmseg_spwc.consolidation import BLIP, per_sample
from mmseg_spwc.consolidation.importance import ImportanceSum
from mmseg_spwc.engine.footprint import (
    AbstractStep,
    build_networks,
    footprint,
    memory_sentence,
    step_footprint,
)
from mmseg_spwc.engine.hooks import (
    BitPreservingHook,
    ConsolidationHook,
    FeatureReplayHook,
    PseudoLabelHook,
    feature_replay_hook,
    pseudo_label_hook,
)
from mmseg_spwc.engine.step_data import trained_params
from mmseg_spwc.models.feature_replay import CayleyRotations, FeatureMemory
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.runtime.abstract import (
    DEVICE,
    FLOOR,
    abstract_device,
    to_abstract,
)

pytestmark = pytest.mark.skipif(
    Version(torch.__version__) < FLOOR, reason=f'needs torch {FLOOR}')
ROOT = Path(__file__).resolve().parents[2]
LEAVES = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / 'configs').rglob('*.py')
    if not {'_base_', 'sweeps'}.intersection(path.parts))
QUICK = ('spwc/rcil-spwc_deeplabv3-r101-d16_voc12aug-512x512', 'r18_shapes',
         'blip/blip_mlp_permuted-digits', 'mas/mas_small-vgg_tiny-imagenet')


# what they do in every iteration cannot be followed without numbers
NUMBERS = {'reminder': 'prototypes of the classes that a batch shows',
           'sdr': 'prototypes of the classes that a batch shows',
           'ucd': 'pixels chosen by a mask'}


def leaves():
    for leaf in LEAVES:
        name = Path(leaf).stem
        marks = [] if any(part in leaf for part in QUICK) else [
            pytest.mark.slow]
        marks += [pytest.mark.xfail(reason=reason) for method, reason in
                  NUMBERS.items() if name.startswith(f'{method}_')]
        yield pytest.param(leaf, id=name, marks=marks)


def load(leaf):
    cfg = Config.fromfile(ROOT / leaf)
    cfg.work_dir = 'work'
    init_default_scope(cfg.get('default_scope', 'mmseg'))
    return cfg, scenario_of(cfg)


class Samples:
    """The training data of a step, for importances."""
    limit = None

    def __init__(self, step):
        self.step = step

    def batches(self):
        inputs = self.step.batch['inputs'][:2]
        outputs = self.forward(self.step.model, inputs)
        shape = (len(outputs), *outputs.shape[2:])
        yield inputs, torch.empty(shape, dtype=torch.long, device=DEVICE)

    def forward(self, model, inputs):
        return model(inputs, mode='tensor')

    def mean(self, total: ImportanceSum, params):
        return {n: total.sums[n] / total.count for n in params
                if n in total.sums}


@pytest.fixture
def blind(monkeypatch):
    """Stand in for what reads numbers, once a step, on purpose."""
    monkeypatch.setattr(per_sample, '_close', lambda *_: True)
    monkeypatch.setattr(pseudo_label_hook, 'check_agreement',
                        lambda *_, **__: None)
    monkeypatch.setattr(pseudo_label_hook, 'generators_kept', nullcontext)
    monkeypatch.setattr(torch.Tensor, '__float__', lambda self: 1.)
    # modules are not moved there but replaced
    monkeypatch.setattr(CayleyRotations, 'to',
                        lambda self, like: to_abstract(self))
    monkeypatch.setattr(SegDataPreProcessor, 'forward',
                        lambda self, data, training: data)


def end_of_step(hook, step):
    """What a hook does with a step's data when its training has ended."""
    model = step.model
    if isinstance(hook, ConsolidationHook):
        params = trained_params(model, hook.exclude)
        hook.importance.begin(params, hook.store, 0)
        found = hook.importance.estimate(model, params, Samples(step))
        assert found and all(v.device.type == DEVICE for v in found.values())
        hook.importance.prepare(found)
    if isinstance(hook, BitPreservingHook):
        params = trained_params(model, hook.exclude)
        bits = BLIP(params, hook.prior, hook.max_bits)
        bits.initialise_(params)
        bits.project_(params)
        hook.fisher.estimate(model, params, Samples(step))
    if isinstance(hook, FeatureReplayHook):
        replay(step, hook)


class Loader(list):
    """One batch, twice."""
    sampler = SimpleNamespace(set_epoch=lambda epoch: None)

    def __init__(self, batch):
        super().__init__([batch, batch])


def replay(step, hook):
    """Stages 2 and 3 of ALIFE-M; what it collects is chosen by masks."""
    model = step.model.eval()
    loader = Loader(step.batch)
    memory = FeatureMemory(8)
    for label in range(1, 4):
        memory.features[label] = torch.empty(
            8, model.decode_head.channels, device=DEVICE)
    for stage, run in ((hook.rotation, feature_replay_hook.rotate_memory),
                       (hook.classifier,
                        feature_replay_hook.train_classifiers)):
        run(model, loader, memory, stage)


@pytest.mark.parametrize('leaf', leaves())
def test_a_step_runs_on_one_device_and_waits_for_nothing(leaf, blind):
    cfg, scenario = load(leaf)
    config = step_config(cfg, scenario, scenario.num_steps - 1)
    networks = build_networks(config)
    with abstract_device() as memory:
        step = AbstractStep(config, scenario, *networks, memory)
        hooks = [HOOKS.build(h) for h in config.custom_hooks
                 if issubclass(HOOKS.get(h['type']),
                               ConsolidationHook | BitPreservingHook
                               | FeatureReplayHook | PseudoLabelHook)]
        for hook in hooks:
            if isinstance(hook, PseudoLabelHook):
                hook.before_train(SimpleNamespace(
                    model=step.model, train_dataloader=[step.batch]))
        losses = step.iterate()
        step.iterate()
        with torch.no_grad():
            step.model.eval()(**step.batch, mode='predict')
            step.model.train()
        for hook in hooks:
            end_of_step(hook, step)
    assert all(v.device.type == DEVICE for v in losses.values())


@pytest.mark.parametrize('amp, most', [(False, 16), (True, 10)])
def test_rcil_with_spwc_fits_a_card(amp, most):
    """At 512 px and batch 24, as published; GiB, all of it counted."""
    leaf = 'configs/spwc/rcil-spwc_deeplabv3-r101-d16_voc12aug-512x512.py'
    cfg, scenario = load(leaf)
    cfg.amp = amp
    cfg.model.recompute = r'backbone\.layer([124]\.\d+|3\.\d)$'
    assert sum(step_footprint(cfg, scenario, 5).values()) < most * 2**30


@pytest.mark.parametrize('name', ['ucd', 'reminder'])
def test_memory_that_cannot_be_told_is_no_error(name):
    cfg, _ = load(
        f'configs/{name}/{name}_deeplabv3-r101-d16_voc12aug-512x512.py')
    assert memory_sentence(cfg).startswith('memory of a GPU: not known. What')


def test_the_sentence_gives_the_sums():
    cfg, _ = load('configs/classification/ewc/ewc_mlp_permuted-digits.py')
    first, last = (f'{sum(parts.values()) / 2**20:.1f} MiB'
                   for parts in footprint(cfg).values())
    assert first != last
    assert memory_sentence(cfg).startswith(
        f'memory of a GPU: {first} in step 0, {last} in step ')


def test_memory_needs_no_thresholds():
    cfg, scenario = load('configs/plop/plop_r18_shapes.py')
    assert step_footprint(cfg, scenario, 1)['teacher'] > 0


def test_an_old_torch_is_told(monkeypatch):
    monkeypatch.setattr(torch, '__version__', '2.1.2+cu121')
    cfg, _ = load('configs/classification/ewc/ewc_mlp_permuted-digits.py')
    assert 'not known. This needs torch 2.6' in memory_sentence(cfg)
