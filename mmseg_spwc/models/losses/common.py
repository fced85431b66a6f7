"""What losses share: precision, checks and means."""
import functools
from collections.abc import Callable

import torch
from torch import Tensor


def full_precision(function: Callable) -> Callable:
    """Run a loss function outside autocast, on widened inputs.

    Half precision tensors, alone or in a list, become float32; float32 and
    float64 tensors are passed on as they are.

    Args:
        function (Callable): A loss whose first argument is a tensor or a
            list of tensors.

    Returns:
        Callable: The same function, safe under autocast.
    """

    @functools.wraps(function)
    def wrapper(first, *args, **kwargs):
        if len(first) == 0:
            raise ValueError('expected at least one image or feature map')
        with torch.autocast(first[0].device.type, enabled=False):
            return function(
                _widen(first), *(_widen(arg) for arg in args),
                **{name: _widen(arg) for name, arg in kwargs.items()})

    return wrapper


def _widen(value):
    if isinstance(value, list | tuple):
        return [_widen(item) for item in value]
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
    """Check that there is one label for every pixel of the logits.

    Args:
        logits (Tensor): (B, C, H, W), upsampled to the size of the labels.
        labels (Tensor): (B, H, W).
    """
    if logits.dim() != 4 or labels.shape != logits[:, 0].shape:
        raise ValueError(
            'expected logits (B, C, H, W) upsampled to labels (B, H, W), got '
            f'{tuple(logits.shape)} and {tuple(labels.shape)}')


def check_old_logits(logits: Tensor, old_logits: Tensor) -> None:
    """Check that the old model saw the same pixels and no further class.

    Args:
        logits (Tensor): (B, C_cur, H, W).
        old_logits (Tensor): (B, C_old, H, W) with C_old <= C_cur.
    """
    if (logits.dim() != 4 or old_logits.dim() != 4
            or logits[:, 0].shape != old_logits[:, 0].shape
            or logits.shape[1] < old_logits.shape[1]):
        raise ValueError(
            'expected logits (B, C_cur, H, W) and old logits (B, C_old, H, W) '
            f'with C_old <= C_cur, got {tuple(logits.shape)} and '
            f'{tuple(old_logits.shape)}')


def mean_over_pixels(loss: Tensor,
                     pixel_weight: Tensor | None = None) -> Tensor:
    """Mean over all B * H * W pixels, the ignored ones included.

    Args:
        loss (Tensor): (B, H, W), zero on ignored pixels.
        pixel_weight (Tensor, optional): (B, H, W), a factor for every pixel.
            It scales the sum, never the number of pixels. Defaults to None.

    Returns:
        Tensor: A scalar.
    """
    if pixel_weight is None:
        return loss.mean()
    if pixel_weight.shape != loss.shape:
        raise ValueError(
            f'pixel_weight {tuple(pixel_weight.shape)} must have the shape '
            f'of the labels, {tuple(loss.shape)}')
    return (loss * pixel_weight).mean()


def mean_where(loss: Tensor, mask: Tensor) -> Tensor:
    """Mean over the pixels of a mask; a zero with a gradient if it is empty.

    Args:
        loss (Tensor): (B, H, W).
        mask (Tensor): (B, H, W), bool.

    Returns:
        Tensor: A scalar.
    """
    return (loss * mask).sum() / mask.sum().clamp(min=1)
