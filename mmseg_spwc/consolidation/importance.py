"""What a kind of importance does and when, and what most of them are.

Most are a mean over samples of a statistic of their gradients. The same of
batch gradients is another quantity: the square of a batch mean is about 1/B
of the mean of the samples' squares and correlates poorly with it.
"""
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import torch
from torch import Tensor, nn

from mmseg_spwc.utils.random_state import generators_kept

from .per_sample import Forward, PerSampleGradients, Statistic
from .store import StepStore

NamedTensors = Mapping[str, Tensor]
Batch = Tensor | tuple[Tensor, Tensor]
# (outputs, labels) -> gradients at the outputs
Cotangents = Callable[[Tensor, Tensor | None], Iterable[Tensor]]


@dataclass
class ImportanceSum:
    """Importances before the division, to be added up over processes."""
    sums: dict[str, Tensor] = field(default_factory=dict)
    count: int = 0  # samples

    def mean(self) -> dict[str, Tensor]:
        """The importances: the mean over the samples."""
        if not self.count:
            raise ValueError('no samples to estimate importances from')
        return {name: total / self.count for name, total in self.sums.items()}


class StepSamples(Protocol):
    """The training data of a step, as an importance may see it."""
    limit: int | None  # samples to use at most

    def batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Inputs and labels, of which ``NOT_COUNTED`` is none."""

    def forward(self, model: nn.Module, inputs: Tensor) -> Tensor:
        """The model's outputs, (B, C) or (B, C, h, w)."""

    def mean(self, total: ImportanceSum,
             params: NamedTensors) -> dict[str, Tensor]:
        """Divide sums by counts, both added up over the processes."""


class Importance:
    """A way to tell how much each parameter matters for a step.

    One step of the sequence reads::

        begin(params, store, step)
        for every update of the optimiser:
            before_update(params)       # the loss's gradients
            after_update(params)        # the change really made
        estimate(model, params, data)   # goes to the store
        prepare(importances)            # in later steps, for the penalty

    A kind implements :meth:`estimate` and is registered in ``TASK_UTILS``.
    Those that watch the training set ``along_the_path``; what they gathered,
    :meth:`state_dict`, goes into the training checkpoints.
    """

    along_the_path = False  # whether the training must be watched

    def begin(self, params: NamedTensors, store: StepStore, step: int) -> None:
        """The training of ``step`` starts; ``store`` has the steps before."""

    def before_update(self, params: NamedTensors) -> None:
        """The gradients of the loss are complete, a penalty's not added."""

    def after_update(self, params: NamedTensors) -> None:
        """The optimiser and the penalty have moved the parameters."""

    def estimate(self, model: nn.Module, params: NamedTensors,
                 data: StepSamples) -> dict[str, Tensor]:
        """Importance of every parameter, not negative, by name."""
        raise NotImplementedError

    def prepare(self, importances: NamedTensors) -> NamedTensors:
        """What enters the penalty of a stored step."""
        return importances

    def state_dict(self) -> dict[str, Tensor]:
        """What was gathered so far, as plain tensors."""
        return {}

    def load_state_dict(self, state: NamedTensors) -> None:
        """Restore what :meth:`state_dict` gave."""


def importance_sum(model: nn.Module, batches: Iterable[Batch],
                   cotangents: Cotangents, stat: Statistic,
                   n_samples: int | None = None,
                   forward: Forward | None = None) -> ImportanceSum:
    """Sum a statistic of the gradient of every sample.

    The model, whose samples must not interact, is run in evaluation mode and
    left as it was found. ``cotangents`` gives, from outputs and labels (or
    None), the gradients of one or several objectives at the outputs, which
    all contribute. For the others see :func:`fisher_diagonal`.
    """
    total = ImportanceSum()
    with no_side_effects(model):
        gradients = PerSampleGradients(
            model, forward or (lambda model, inputs: model(inputs)), stat)
        for inputs, labels in _limited(batches, n_samples):
            sums = gradients.sums(inputs, partial(cotangents, labels=labels))
            for name, value in sums.items():
                wide = value.to(torch.promote_types(value.dtype,
                                                    torch.float32))
                total.sums[name] = total.sums.get(name, 0.) + wide
            total.count += len(inputs)
    return total


def _limited(batches: Iterable[Batch], n_samples: int | None
             ) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Pairs of inputs and labels or None, cut after ``n_samples``."""
    if n_samples is not None and n_samples < 1:
        raise ValueError(f'n_samples must be at least 1, got {n_samples}')
    left = n_samples
    for batch in batches:
        paired = isinstance(batch, tuple | list)
        inputs, labels = batch if paired else (batch, None)
        if not isinstance(inputs, Tensor):
            raise TypeError(
                'batches must hold tensors or pairs of inputs and labels, '
                f'got {type(inputs).__name__}')
        yield inputs[:left].detach(), None if labels is None else labels[:left]
        if left is not None:
            left -= len(inputs)
            if left <= 0:
                return


@contextmanager
def no_side_effects(model: nn.Module) -> Iterator[None]:
    """Evaluate ``model`` with gradients enabled, then restore all modes,
    gradients, buffers and random states."""
    modes = [(module, module.training) for module in model.modules()]
    params = [(p, p.requires_grad, p.grad) for p in model.parameters()]
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    model.eval()
    try:
        with generators_kept(), torch.random.fork_rng(), torch.enable_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training
        for param, requires_grad, grad in params:
            param.requires_grad_(requires_grad)
            param.grad = grad
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)
