"""CIFAR-100 in its Python form: pickles, read without running code.

A pickle may call any function of any module while it is read. The reader here
knows the few functions that arrays are made of and refuses all others.
"""
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mmseg_spwc.registry import DATASETS

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
        per_class (int, optional): Keep the first so many images of every
            class only.
    """

    def __init__(self, data_root: str, split: str = 'train',
                 per_class: int | None = None) -> None:
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
            [_bytes(name).decode() for name in meta[b'fine_label_names']],
            per_class=per_class)


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


def _latin1(text: str, encoding: str) -> bytes:
    """What Python 3 writes for bytes in the format of Python 2."""
    if encoding != 'latin1':
        raise pickle.UnpicklingError(f'bytes in the encoding {encoding!r}')
    return text.encode('latin1')


_RECONSTRUCT = np.empty(0).__reduce__()[0]
_ALLOWED = {
    ('numpy', 'ndarray'): np.ndarray,
    ('numpy', 'dtype'): np.dtype,
    ('numpy.core.multiarray', '_reconstruct'): _RECONSTRUCT,
    ('numpy._core.multiarray', '_reconstruct'): _RECONSTRUCT,
    ('_codecs', 'encode'): _latin1,
}


class _ArrayUnpickler(pickle.Unpickler):

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(
                f'it wants to call {module}.{name}, which no image needs')
        return _ALLOWED[module, name]


def load_arrays(path: str | Path) -> Any:
    """Read a pickle of arrays, numbers, strings and containers of them.

    Strings of Python 2 become ``bytes``.
    """
    with open(path, 'rb') as file:
        try:
            return _ArrayUnpickler(file, encoding='bytes').load()
        except Exception as error:  # a broken pickle may raise any of them
            raise ValueError(f'{path} cannot be read as a pickle of arrays: '
                             f'{error}. Get it anew.') from error
