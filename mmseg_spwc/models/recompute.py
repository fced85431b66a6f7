"""Parts of a network and losses that run again instead of keeping maps.

What the backward pass needs of them is computed a second time from their
inputs, to the same numbers: batch norms keep the statistics of the first run.
"""
import contextlib
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint


def recompute(module: nn.Module) -> None:
    """Let a part of a network keep its inputs alone while it is trained."""
    module.forward = _Recomputed(module)


class _Recomputed:
    """The ``forward`` of one module; a class, so that it can be copied."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.run = module.forward

    def __call__(self, *args):
        if not (self.module.training and torch.is_grad_enabled()):
            return self.run(*args)
        return checkpoint(
            self.run, *args, use_reentrant=False, context_fn=lambda: (
                contextlib.nullcontext(), statistics_kept(self.module)))


@contextlib.contextmanager
def statistics_kept(module: nn.Module) -> Iterator[None]:
    """Leave the statistics of batch norms as they are before a block."""
    buffers = [(b, b.clone()) for part in module.modules()
               if isinstance(part, _BatchNorm) for b in part.buffers()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)


def called_frugally(loss: Callable, **quantities):
    """Call a loss that keeps only what it is given, but on a CPU.

    A loss of pixels keeps several copies of the logits at label size, and
    takes little time: on a GPU memory is shorter.
    """
    if not torch.is_grad_enabled() or _on_cpu(quantities):
        return loss(**quantities)
    return checkpoint(loss, use_reentrant=False, **quantities)


def _on_cpu(quantities: dict) -> bool:
    for value in quantities.values():
        first = value[0] if isinstance(value, tuple | list) and value \
            else value
        if isinstance(first, Tensor):
            return first.device.type == 'cpu'
    return True
