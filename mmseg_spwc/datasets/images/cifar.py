"""CIFAR-100 in its Python form."""
from pathlib import Path

import numpy as np
import torch

from mmseg_spwc.registry import DATASETS

from .safe_pickle import load_arrays
from .source import ImageSource, check_split, find_file

FOLDER = 'cifar-100-python'
SIDE = 32


@DATASETS.register_module()
class CifarImages(ImageSource):
    """CIFAR-100 with its 100 fine labels.

    The pickles are read without running any code that they may hold.

    Args:
        data_root (str): Folder of the files ``train``, ``test`` and
            ``meta``, or of the folder ``cifar-100-python`` with them.
        split (str): ``'train'`` or ``'test'``. Defaults to ``'train'``.
    """

    def __init__(self, data_root: str, split: str = 'train') -> None:
        check_split(split)
        data = _read(data_root, split, (b'data', b'fine_labels'))
        meta = _read(data_root, 'meta', (b'fine_label_names', ))
        images = np.asarray(data[b'data'])
        if images.dtype != np.uint8 or images.shape[1:] != (3 * SIDE**2, ):
            raise ValueError(
                f'The images of CIFAR-100 ({split}) are {images.dtype} of '
                f'shape {images.shape}, not uint8 of shape '
                f'(N, {3 * SIDE**2}): get the files anew.')
        images = images.reshape(-1, 3, SIDE, SIDE)  # (N, RGB, H, W)
        super().__init__(
            torch.from_numpy(images.copy()),
            torch.tensor(data[b'fine_labels'], dtype=torch.int64),
            [_bytes(name).decode() for name in meta[b'fine_label_names']])


def _read(root: str, name: str, keys: tuple[bytes, ...]) -> dict:
    names = [f'{FOLDER}/{name}', name]
    path: Path = find_file(root, names, 'CIFAR-100 (python version)')
    content = load_arrays(path)
    if not isinstance(content, dict):
        raise ValueError(f'{path} holds no dict: get the file anew.')
    # Python 3 pickles have str where the original ones have bytes
    content = {_bytes(key): value for key, value in content.items()}
    missing = [key.decode() for key in keys if key not in content]
    if missing:
        raise ValueError(f'{path} has no {missing[0]!r}: it is not of '
                         'CIFAR-100; get the python version.')
    return content


def _bytes(key: str | bytes) -> bytes:
    return key.encode() if isinstance(key, str) else key
