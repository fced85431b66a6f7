"""Accumulated and scaled gradients take the way of the plain run."""
import contextlib
import functools
import math

import pytest
import torch
from digit_runs import (
    digits,
    plain_text_of_configs,  # noqa: F401
    train,
    weights,
)
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.optim.optimizer import amp_optimizer_wrapper
from torch import nn

from mmseg_spwc.engine.hooks import BitPreservingHook
from mmseg_spwc.engine.launch import use_mixed_precision
from mmseg_spwc.record import Record
from mmseg_spwc.registry import HOOKS

METHODS = 'configs/_base_/methods'
# 1150 images are 23 batches of 50; labels must not depend on the batches
TASKS = {'scenario.name': '2', 'train_cfg.max_epochs': 1,
         'total_batch_size': 50}
EXACT = {'method.every.hooks.consolidation.importance.labels': 'exact'}
CLASSIFIERS = {
    'ewc-spwc-protected': EXACT,
    'si': {},
    'mas': {},
}


@HOOKS.register_module(force=True)
class SteadyNorms(Hook):
    """Batch norms that do not see how a batch is split."""

    def before_train_iter(self, runner, batch_idx, data_batch=None):
        for module in runner.model.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()


@pytest.fixture
def scaler(monkeypatch):
    """A GPU's loss scaling, in full precision on this CPU."""
    patch = functools.partial(monkeypatch.setattr, amp_optimizer_wrapper)
    patch('is_cuda_available', lambda: True)
    patch('GradScaler', functools.partial(torch.amp.GradScaler, 'cpu'))
    patch('autocast', lambda **kwargs: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: False)


def halved(cfg: Config) -> None:
    cfg.total_batch_size //= 2
    cfg.optim_wrapper.accumulative_counts = 2


def scaled(cfg: Config) -> None:
    cfg.optim_wrapper.merge(dict(loss_scale=2.**16))
