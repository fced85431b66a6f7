"""Every process must hold the same weights, scores and priorities."""
import hashlib
import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from mmengine.dist import all_gather_object, get_world_size

from mmseg_spwc.errors import Disagreement


def fingerprint(value: object) -> str:
    """SHA-256 of tensors, numbers and text, however they are nested.

    Equal fingerprints mean equal bits: types, shapes, names and order of a
    list count, the order of a mapping and the device of a tensor do not.
    """
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()


def check_agreement(where: str, **things: object) -> None:
    """Compare things over all ranks; every rank must call it.

    ``where`` is for the message, such as ``'at the end of step 1'``. If they
    differ, all ranks raise :class:`Disagreement`.
    """
    if get_world_size() == 1:
        return
    parts = {}
    for name, value in things.items():
        items = value.items() if isinstance(value, Mapping) else [('', value)]
        parts.update({f'{name}.{key}'.rstrip('.'): fingerprint(item)
                      for key, item in items})
    every = all_gather_object(parts)
    different = sorted(
        name for name in set().union(*every)
        if len({ranks.get(name) for ranks in every}) > 1)
    if different:
        odd = [rank for rank, ranks in enumerate(every)
               if ranks.get(different[0]) != every[0].get(different[0])]
        raise Disagreement(
            f'The processes disagree {where}: {different[0]} (and '
            f'{len(different) - 1} more) is not the same on rank 0 and on '
            f'ranks {odd}. Its results cannot be trusted; the step was not '
            'marked as finished.')


def _feed(digest, value: object) -> None:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().contiguous()
        digest.update(f'tensor {value.dtype} {tuple(value.shape)}:'.encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy())
    elif isinstance(value, np.ndarray):
        _feed(digest, torch.from_numpy(np.ascontiguousarray(value)))
    elif isinstance(value, Mapping):
        digest.update(f'mapping {len(value)}:'.encode())
        for key in sorted(value, key=str):
            _feed(digest, str(key))
            _feed(digest, value[key])
    elif isinstance(value, str):
        text = value.encode()
        digest.update(f'text {len(text)}:'.encode() + text)
    elif isinstance(value, Sequence):
        digest.update(f'list {len(value)}:'.encode())
        for item in value:
            _feed(digest, item)
    else:
        digest.update(f'{_plain(value)!r}:'.encode())


def _plain(value: object) -> object:
    """A number or None; NaN is NaN whatever its bits."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is not None and not isinstance(value, (bool, int, float)):
        raise TypeError('Cannot compare values of type '
                        f'{type(value).__name__} between processes: give '
                        'tensors, numbers or text.')
    if isinstance(value, float) and math.isnan(value):
        return 'nan'
    return value
