"""What one process does for all, and the model inside a wrapper."""
import pickle
from collections.abc import Callable
from typing import TypeVar

import torch
from mmengine.dist import (
    all_reduce,
    broadcast_object_list,
    get_world_size,
    is_main_process,
)
from mmengine.model import is_model_wrapper
from torch import nn

T = TypeVar('T')


def from_first_rank(function: Callable[..., T], *args, **kwargs) -> T:
    """Call a function on the first rank; every rank must enter, and returns
    or raises what it did."""
    box = [None, None]
    if is_main_process():
        try:
            box[0] = function(*args, **kwargs)
        except Exception as error:  # every rank must hear of it
            box[1] = error if get_world_size() == 1 else _portable(error)
    broadcast_object_list(box)
    if box[1] is not None:
        raise box[1]
    return box[0]


def _portable(error: Exception) -> Exception:
    """The error, or its text where other processes could not read it."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f'{type(error).__name__}: {error}')
    return error


def anywhere(flag: bool) -> bool:
    """Whether a flag is set on any rank; every rank must enter."""
    if get_world_size() == 1:
        return flag
    found = torch.tensor([flag], dtype=torch.int32)
    all_reduce(found, op='max')
    return bool(found.item())


def unwrap(model: nn.Module) -> nn.Module:
    """Return the model inside a distributed wrapper, or the model itself."""
    return model.module if is_model_wrapper(model) else model
