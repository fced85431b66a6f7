"""What losses share: their factor, their precision, checks and means."""
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mmseg_spwc.labels import VOID


class Loss(nn.Module):
    """Every loss has the argument ``loss_weight``, its factor."""

    def __init__(self, loss_weight: float = 1.0) -> None:
        super().__init__()
        self.loss_weight = loss_weight


def full_precision(function: Callable) -> Callable:
    """Run a function outside autocast, its half precision inputs widened.

    Tensors may be in lists; float32 and float64 are passed on as they are.
    """

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        first = next(_tensors([*args, *kwargs.values()]), ())
        if len(first) == 0:
            raise ValueError('expected at least one image or feature map')
        with torch.autocast(first.device.type, enabled=False):
            return function(*widen(args), **{
                name: widen(value) for name, value in kwargs.items()})

    return wrapper


def _tensors(values: Iterable) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def widen(value):
    """Return half precision tensors, in lists too, in single precision."""
    if isinstance(value, list | tuple):
        return type(value)(map(widen, value))
    if isinstance(value, Tensor) and value.dtype in (torch.float16,
                                                     torch.bfloat16):
        return value.float()
    return value


def positive_temperature(temperature: float) -> float:
    """Return a temperature that can divide logits, or say why it cannot."""
    if temperature <= 0:
        raise ValueError(f'temperature must be positive, got {temperature}')
    return temperature


def check_labels(logits: Tensor, labels: Tensor) -> None:
    """Check that there is one label for every pixel of the logits."""
    if logits.dim() != 4 or labels.shape != logits[:, 0].shape:
        raise ValueError(
            'expected logits (B, C, H, W) upsampled to labels (B, H, W), got '
            f'{tuple(logits.shape)} and {tuple(labels.shape)}')


def check_old_logits(logits: Tensor, old_logits: Tensor) -> None:
    """Check that the old model saw the same pixels and no further class."""
    if (logits.dim() != 4 or old_logits.dim() != 4
            or logits[:, 0].shape != old_logits[:, 0].shape
            or logits.shape[1] < old_logits.shape[1]):
        raise ValueError(
            'expected logits (B, C_cur, H, W) and old logits (B, C_old, H, W) '
            f'with C_old <= C_cur, got {tuple(logits.shape)} and '
            f'{tuple(old_logits.shape)}')


def shrink(values: Tensor, size: Sequence[int]) -> Tensor:
    """Bring values of pixels (B, H, W) to a size (h, w), the nearest each."""
    small = F.interpolate(values[:, None].float(), tuple(size))[:, 0]
    return small.to(values.dtype)


def mean_over_pixels(loss: Tensor,
                     pixel_weight: Tensor | None = None) -> Tensor:
    """Mean of (B, H, W) over all pixels, the ignored ones included.

    ``pixel_weight`` (B, H, W) scales the sum, never the number of pixels.
    """
    if pixel_weight is None:
        return loss.mean()
    if pixel_weight.shape != loss.shape:
        raise ValueError(
            f'pixel_weight {tuple(pixel_weight.shape)} must have the shape '
            f'of the labels, {tuple(loss.shape)}')
    return (loss * pixel_weight).mean()


def is_background(labels: Tensor, num_old: int,
                  named: Tensor | None = None) -> Tensor:
    """Pixels (B, H, W) whose label does not say of which class they are.

    In an image of the step these are all labels of old channels. A replayed
    image names others, the ``named`` (B, C); void pixels are no background.
    """
    if named is None:
        return labels < num_old
    index = labels.masked_fill(labels == VOID, 0).long()
    found = named.gather(1, index.flatten(1)).view_as(labels)
    return ~found & (labels != VOID)


def at_labels(logits: Tensor, labels: Tensor) -> Tensor:
    """The logit (B, H, W) of every pixel's label; any where it is void."""
    index = labels.masked_fill(labels == VOID, 0).long()
    return logits.gather(1, index[:, None])[:, 0]


def mean_where(loss: Tensor, mask: Tensor) -> Tensor:
    """Mean over a mask; a zero with a gradient if it is empty."""
    return (loss * mask).sum() / mask.sum().clamp(min=1)
