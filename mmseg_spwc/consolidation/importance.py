r"""How much each parameter matters: diagonal Fisher and MAS, per sample.

Both average a statistic of per-sample gradients. A statistic of batch
gradients is a different quantity, not a rescaling: the square of a batch mean
is about 1/B of the Fisher diagonal and correlates poorly with it.
"""
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor, nn

from .fisher_labels import LABELS
from .layer_sums import ABSOLUTE, SQUARE, Statistic
from .model_sums import Forward
from .per_sample import PerSampleGradients
from .side_effects import no_side_effects

Batch = Tensor | tuple[Tensor, Tensor]
# (outputs, labels) -> gradients at the outputs
Cotangents = Callable[[Tensor, Tensor | None], Iterable[Tensor]]


@dataclass
class ImportanceSum:
    """Importances before the division, to be added up over processes.

    Attributes:
        sums: Sum over the samples, by parameter name.
        count: Number of samples.
    """
    sums: dict[str, Tensor] = field(default_factory=dict)
    count: int = 0

    def mean(self) -> dict[str, Tensor]:
        """The importances: the mean over the samples."""
        if not self.count:
            raise ValueError('no samples to estimate importances from')
        return {name: total / self.count for name, total in self.sums.items()}


def fisher_diagonal(model: nn.Module,
                    batches: Iterable[Batch],
                    labels: str = 'sample',
                    n_samples: int | None = None,
                    forward: Forward | None = None,
                    ignore_index: int = -100) -> dict[str, Tensor]:
    r"""Diagonal of the Fisher information, :math:`E[(\partial_\theta \ln
    p(y|x))^2]`, from per-sample gradients.

    For dense outputs (B, C, H, W) a sample is an image and its likelihood the
    product over the pixels. The model is run in evaluation mode and left as
    it was found, random states included.

    Args:
        model: Returns logits, (B, C) or (B, C, ...).
        batches: Inputs, or pairs of inputs and labels.
        labels: Which y: ``sample`` draws it from the model (an unbiased
            estimate), ``exact`` sums over all classes at C times the cost,
            ``empirical`` takes the true one, ``max`` the most likely one.
        n_samples: Use this many samples at most.
        forward: Called with model and inputs if ``model(inputs)`` does not
            give the logits.
        ignore_index: True label that does not count.

    Returns:
        dict: Importance of every parameter that requires a gradient.
    """
    return fisher_sum(model, batches, labels, n_samples, forward,
                      ignore_index).mean()


def fisher_sum(model: nn.Module,
               batches: Iterable[Batch],
               labels: str = 'sample',
               n_samples: int | None = None,
               forward: Forward | None = None,
               ignore_index: int = -100) -> ImportanceSum:
    """:func:`fisher_diagonal` as sums and count."""
    if labels not in LABELS:
        raise ValueError(
            f'labels must be one of {list(LABELS)}, got {labels!r}')
    cotangents = partial(LABELS[labels], ignore_index=ignore_index)
    return _importance_sum(model, batches, cotangents, SQUARE,
                           n_samples, forward)


def mas_importance(model: nn.Module,
                   batches: Iterable[Batch],
                   n_samples: int | None = None,
                   forward: Forward | None = None) -> dict[str, Tensor]:
    r"""Memory aware synapses: :math:`E|\partial_\theta \|f(x)\|_2^2|`.

    Needs no labels. See :func:`fisher_diagonal` for the arguments.

    Returns:
        dict: Importance of every parameter that requires a gradient.
    """
    return mas_sum(model, batches, n_samples, forward).mean()


def mas_sum(model: nn.Module,
            batches: Iterable[Batch],
            n_samples: int | None = None,
            forward: Forward | None = None) -> ImportanceSum:
    """:func:`mas_importance` as sums and count."""
    return _importance_sum(model, batches, _of_squared_norm, ABSOLUTE,
                           n_samples, forward)


def _importance_sum(model: nn.Module, batches: Iterable[Batch],
                    cotangents: Cotangents, stat: Statistic,
                    n_samples: int | None,
                    forward: Forward | None) -> ImportanceSum:
    total = ImportanceSum()
    with no_side_effects(model):
        gradients = PerSampleGradients(model, forward or _call, stat)
        for inputs, labels in _limited(batches, n_samples):
            sums = gradients.sums(inputs, partial(cotangents, labels=labels))
            for name, value in sums.items():
                wide = value.to(torch.promote_types(value.dtype,
                                                    torch.float32))
                total.sums[name] = total.sums.get(name, 0.) + wide
            total.count += len(inputs)
    return total


def _call(model: nn.Module, inputs: Tensor) -> Tensor:
    return model(inputs)


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


def _of_squared_norm(logits: Tensor, labels: Tensor | None) -> list[Tensor]:
    return [2 * logits]
