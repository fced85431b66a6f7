r"""The labels of the Fisher information, as gradients at the logits.

The gradient of :math:`\ln p(y|x)` at the logits is :math:`e_y - p`, with
:math:`e_y` the indicator of class y and p the softmax. Dense logits (B, C, H,
W) carry one label a pixel; the log-likelihoods of the pixels add up.
"""
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor


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
    """The true labels, which give the empirical Fisher information."""
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
            f"labels='exact' needs one label a sample, not logits of shape "
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
