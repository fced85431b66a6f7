"""Run a model for measurement and leave no trace of it."""
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn


@contextmanager
def no_side_effects(model: nn.Module) -> Iterator[None]:
    """Evaluate ``model`` with gradients enabled, then restore everything.

    Restored are the training flag of every module (a frozen BatchNorm in a
    training model stays in evaluation), ``requires_grad`` and gradients of
    every parameter, the buffers, and the random states of torch, NumPy and
    Python, which the data pipeline may have advanced.
    """
    modes = [(module, module.training) for module in model.modules()]
    params = [(p, p.requires_grad, p.grad) for p in model.parameters()]
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    python_state, numpy_state = random.getstate(), np.random.get_state()
    model.eval()
    try:
        with torch.random.fork_rng(), torch.enable_grad():
            yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)
        for module, training in modes:
            module.training = training
        for param, requires_grad, grad in params:
            param.requires_grad_(requires_grad)
            param.grad = grad
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)
