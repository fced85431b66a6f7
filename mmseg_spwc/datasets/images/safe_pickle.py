"""Read a pickle that holds arrays and plain containers, and nothing else.

A pickle may call any function of any module while it is read. This reader
knows the few functions that arrays are made of and refuses all others.
"""
import pickle
from pathlib import Path
from typing import Any

import numpy as np


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

    Args:
        path (str | Path): The file; strings of Python 2 become ``bytes``.

    Raises:
        ValueError: The file is no pickle, or holds anything else.
    """
    with open(path, 'rb') as file:
        try:
            return _ArrayUnpickler(file, encoding='bytes').load()
        except Exception as error:  # a broken pickle may raise any of them
            raise ValueError(f'{path} cannot be read as a pickle of arrays: '
                             f'{error}. Get it anew.') from error
