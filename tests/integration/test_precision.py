"""Accumulated and scaled gradients take the way of the plain run."""
import contextlib
import functools
import itertools

import mmengine.runner.amp
import pytest
import torch
from digit_runs import (
    digits,
    train,
    weights,
)
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.optim.optimizer import amp_optimizer_wrapper

from mmseg_spwc.config.types import AMP_FORMS
from mmseg_spwc.models import rc_layers
from mmseg_spwc.record import Record
from mmseg_spwc.registry import HOOKS

# 1150 images are 23 batches of 50
TASKS = {'scenario.name': '2', 'train_cfg.max_epochs': 1,
         'total_batch_size': 50}
# labels that are drawn would depend on the batches
EXACT = {'method.every.hooks.consolidation.importance.labels': 'exact'}
CLASSIFIERS = {'ewc-spwc-protected': EXACT, 'si': {}, 'mas': {}}


@HOOKS.register_module(force=True)
class SteadyNorms(Hook):
    """Batch norms that do not see how a batch is split."""

    def before_train_iter(self, runner, batch_idx, data_batch=None):
        for module in runner.model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.eval()


def plain(cfg: Config) -> None:
    """Leave it as it is."""


def halved(cfg: Config) -> None:
    cfg.total_batch_size //= 2
    cfg.optim_wrapper.accumulative_counts = 2


def scaled(cfg: Config) -> None:
    """What ``--amp`` does where there is a GPU."""
    cfg.amp = True
    cfg.optim_wrapper.loss_scale = 'dynamic'


@pytest.fixture(autouse=True)
def scaler_without_gpu(monkeypatch):
    """Loss scaling as on a GPU, but nothing in half precision."""
    if not hasattr(torch.amp, 'GradScaler'):
        pytest.skip('no loss scaler on a CPU before torch 2.3')
    patch = functools.partial(monkeypatch.setattr, amp_optimizer_wrapper)
    patch('is_cuda_available', lambda: True)
    monkeypatch.setitem(AMP_FORMS, 'cpu', AMP_FORMS['cuda'])
    patch('GradScaler', functools.partial(torch.amp.GradScaler, 'cpu'))
    monkeypatch.setattr(mmengine.runner.amp, 'autocast',
                        lambda **kwargs: contextlib.nullcontext())


def assert_same_way(a: dict, b: dict, atol: float) -> None:
    assert a.keys() == b.keys()
    for key in a:
        torch.testing.assert_close(a[key], b[key], atol=atol, rtol=0, msg=key)


@pytest.mark.parametrize('method', CLASSIFIERS)
def test_penalties(tmp_path, method):
    states = []
    for change in (plain, halved, scaled):
        cfg = digits(tmp_path / change.__name__, method,
                     **TASKS, **CLASSIFIERS[method])
        change(cfg)
        record = train(cfg)
        assert record.step(1)['consolidation']['penalised'] == 1
        states.append(weights(cfg, 1))
    assert_same_way(states[0], states[1], 2e-5)
    assert_same_way(states[0], states[2], 1e-6)


def test_bits(tmp_path):
    """BLIP clips after every update; its rounding may differ by a bit."""
    states = []
    for change in (plain, halved, scaled):
        cfg = digits(tmp_path / change.__name__, 'blip', **TASKS)
        change(cfg)
        train(cfg)
        states.append([weights(cfg, step) for step in range(2)])
    layer = 'backbone.layers.0.weight'
    assert not torch.equal(states[0][0][layer], states[0][1][layer])
    for a, *others in zip(*states, strict=True):
        for key, other in itertools.product(a, others):
            near = (a[key] - other[key]).abs() < 1e-5
            assert near.float().mean() > 0.99, key


@pytest.fixture
def rcil(config_in, tmp_path, monkeypatch):
    """RCIL+spWC on shapes, with full batches and the same shares in every
    pass: they are drawn for each pass, of which two halves take two.
    """
    monkeypatch.setattr(rc_layers, 'draw_shares',
                        lambda channels: torch.arange(channels) % 3 / 2)

    def make(name: str) -> Config:
        cfg = config_in(tmp_path / name, **{
            'experiment_name': name,
            'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
            'model.decode_head.dropout_ratio': 0.,
            # folding divides by the scales of the norms
            'model.backbone.zero_init_residual': False,
            'optim_wrapper.optimizer.lr': 1e-3,
            'schedule.later.optim_wrapper.optimizer.lr': 1e-3,
            'train_dataloader.sampler.type': 'InfiniteSampler',
            'default_hooks.checkpoint': dict(by_epoch=False, interval=100),
            'custom_hooks': [dict(type='mmseg_spwc.SteadyNorms')],
        })
        for fragment in ('rcil', 'spwc'):
            for key, value in Config.fromfile(
                    f'configs/_base_/methods/{fragment}.py').items():
                cfg[key] = value
        cfg.param_scheduler = []
        cfg.train_cfg = dict(type='IterBasedTrainLoop', max_iters=6)
        cfg.schedule.later.train_cfg = dict(max_iters=6)
        return cfg

    return make


def test_representation_compensation(rcil):
    cfgs = []
    for change in (plain, halved, scaled):
        cfg = rcil(change.__name__)
        change(cfg)
        if change is halved:
            cfg.train_cfg.max_iters = 12
            cfg.schedule.later.train_cfg.max_iters = 12
        train(cfg)
        assert Record.read(cfg.work_dir).step(1)['priority']
        cfgs.append(cfg)
    for step in range(2):
        a, b, c = (weights(cfg, step) for cfg in cfgs)
        assert_same_way(a, b, 1e-4)
        assert_same_way(a, c, 1e-5)
