r"""Importances that are measured at the end of a step: Fisher and MAS.

The gradient of :math:`\ln p(y|x)` at the logits is :math:`e_y - p`, with
:math:`e_y` the indicator of class y and p the softmax. Dense logits (B, C, H,
W) carry one label per pixel; the log-likelihoods of the pixels add up.
"""
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mmseg_spwc.labels import NOT_COUNTED

from .importance import (
    Batch,
    Cotangents,
    Importance,
    NamedTensors,
    StepSamples,
    importance_sum,
)
from .per_sample import ABSOLUTE, SQUARE, Forward, Statistic


class Measured(Importance):
    """The mean of a statistic of the gradient of every sample."""

    def __init__(self, cotangents: Cotangents, stat: Statistic) -> None:
        self.cotangents = cotangents
        self.stat = stat

    def estimate(self, model: nn.Module, params: NamedTensors,
                 data: StepSamples) -> dict[str, Tensor]:
        total = importance_sum(model, data.batches(), self.cotangents,
                               self.stat, data.limit, data.forward)
        return data.mean(total, params)


class FisherImportance(Measured):
    """:func:`fisher_diagonal` at the end of a step (Kirkpatrick et al., 2017),
    with ``labels`` as there."""

    def __init__(self, labels: str = 'sample') -> None:
        super().__init__(_cotangents(labels), SQUARE)
        self.labels = labels


class MASImportance(Measured):
    """:func:`mas_importance` at the end of a step."""

    def __init__(self) -> None:
        super().__init__(_of_squared_norm, ABSOLUTE)


def fisher_diagonal(model: nn.Module, batches: Iterable[Batch],
                    labels: str = 'sample', n_samples: int | None = None,
                    forward: Forward | None = None,
                    ignore_index: int = NOT_COUNTED) -> dict[str, Tensor]:
    r"""Diagonal of the Fisher information, :math:`E[(\partial_\theta \ln
    p(y|x))^2]`, from per-sample gradients.

    For dense outputs (B, C, H, W) a sample is an image and its likelihood the
    product over the pixels.

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
    return importance_sum(model, batches, _cotangents(labels, ignore_index),
                          SQUARE, n_samples, forward).mean()


def sampled(logits: Tensor, labels: Tensor | None,
            ignore_index: int) -> Iterator[Tensor]:
    """Labels drawn from the model's own distribution."""
    p = _softmax(logits).movedim(1, -1)  # (B, ..., C)
    drawn = torch.multinomial(p.flatten(0, -2), 1).view(p.shape[:-1])
    yield _at_logits(logits, drawn)


def most_likely(logits: Tensor, labels: Tensor | None,
                ignore_index: int) -> Iterator[Tensor]:
    """The model's prediction."""
    _softmax(logits)
    yield _at_logits(logits, logits.argmax(1))


def given(logits: Tensor, labels: Tensor | None,
          ignore_index: int) -> Iterator[Tensor]:
    """The true labels: the empirical Fisher information."""
    if labels is None:
        raise ValueError(
            "labels='empirical' needs batches of inputs and true labels")
    shape = (len(logits), *logits.shape[2:])
    if labels.shape != shape:
        raise ValueError(
            f'labels have shape {tuple(labels.shape)}, the logits ask for '
            f'{shape}')
    counts = labels != ignore_index
    if not ((labels >= 0) & (labels < logits.shape[1]))[counts].all():
        raise ValueError(
            f'labels must lie in [0, {logits.shape[1]}) or equal '
            f'ignore_index={ignore_index}')
    at_logits = _at_logits(logits, labels.where(counts, 0))
    yield at_logits * counts.unsqueeze(1)


def all_weighted(logits: Tensor, labels: Tensor | None,
                 ignore_index: int) -> Iterator[Tensor]:
    r"""Every label, scaled by :math:`\sqrt{p_y}` so that squares have p_y."""
    if logits.dim() != 2:
        raise ValueError(
            f"labels='exact' needs one label per sample, not logits of shape "
            f"{tuple(logits.shape)}; take 'sample', which is unbiased")
    p = _softmax(logits)
    for y in range(logits.shape[1]):
        label = torch.full_like(logits[:, 0], y, dtype=torch.long)
        yield _at_logits(logits, label) * p[:, y:y + 1].sqrt().to(logits)


LABELS: dict[str, Callable[..., Iterator[Tensor]]] = {
    'sample': sampled,
    'exact': all_weighted,
    'empirical': given,
    'max': most_likely,
}


def _cotangents(labels: str, ignore_index: int = NOT_COUNTED) -> Cotangents:
    if labels not in LABELS:
        raise ValueError(f'labels of the Fisher information are one of '
                         f'{", ".join(LABELS)}, not {labels!r}')
    return partial(LABELS[labels], ignore_index=ignore_index)


def _softmax(logits: Tensor) -> Tensor:
    if logits.dim() < 2:
        raise ValueError(
            'the model must return logits of shape (B, C) or (B, C, ...), '
            f'got {tuple(logits.shape)}')
    return logits.to(torch.promote_types(logits.dtype,
                                         torch.float32)).softmax(1)


def _at_logits(logits: Tensor, labels: Tensor) -> Tensor:
    """Gradient of the log-likelihood of ``labels``, shaped as ``logits``."""
    p = _softmax(logits)
    chosen = F.one_hot(labels, logits.shape[1]).movedim(-1, 1)  # (B, C, ...)
    return (chosen - p).to(logits)


def mas_importance(model: nn.Module, batches: Iterable[Batch],
                   n_samples: int | None = None,
                   forward: Forward | None = None) -> dict[str, Tensor]:
    r"""Memory aware synapses (Aljundi et al., 2018):
    :math:`E|\partial_\theta \|f(x)\|_2^2|`, from per-sample gradients.

    Needs no labels. See :func:`fisher_diagonal` for the arguments.

    Returns:
        dict: Importance of every parameter that requires a gradient.
    """
    return importance_sum(model, batches, _of_squared_norm, ABSOLUTE,
                          n_samples, forward).mean()


def _of_squared_norm(logits: Tensor, labels: Tensor | None) -> list[Tensor]:
    return [2 * logits]
