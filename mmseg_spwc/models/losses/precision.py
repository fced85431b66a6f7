"""Losses are computed in float32 or better, whatever autocast says."""
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
