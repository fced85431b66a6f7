"""Every process must hold the same weights, scores and priorities."""
import hashlib
import json
from collections.abc import Mapping

import numpy as np
import torch
from mmengine.dist import all_gather_object, get_world_size

from mmseg_spwc.errors import Disagreement


def fingerprint(value: object) -> str:
    """SHA-256 of tensors, numbers and text, however they are nested.

    Equal fingerprints mean equal bits: types, shapes, names and order of a
    list count, the order of a mapping and the device of a tensor do not.
    """
    text = json.dumps(value, sort_keys=True, default=_digest)
    return hashlib.sha256(text.encode()).hexdigest()


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


def _digest(value: object) -> object:
    """What JSON does not know: arrays by their bits, NumPy's numbers."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        value = torch.from_numpy(np.ascontiguousarray(value))
    if not isinstance(value, torch.Tensor):
        raise TypeError('Cannot compare values of type '
                        f'{type(value).__name__} between processes: give '
                        'tensors, numbers or text.')
    value = value.detach().cpu().contiguous()
    bits = hashlib.sha256(value.reshape(-1).view(torch.uint8).numpy())
    return [str(value.dtype), list(value.shape), bits.hexdigest()]
