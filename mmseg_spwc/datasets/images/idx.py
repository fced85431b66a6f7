"""Digits: scikit-learn's small ones, and files in the IDX format of MNIST."""
import gzip
import math
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from mmseg_spwc.registry import DATASETS
from mmseg_spwc.scenario import stratified_split
from mmseg_spwc.utils.options import is_positive

from .source import ImageSource, check_split, find_file

DIGITS = [str(i) for i in range(10)]
SCALE = 4  # 8x8 becomes 32x32
TEST_RATIO = 0.2
_PREFIXES = dict(train='train', test='t10k')
_UINT8 = 0x08
_MOST, _MORE = 2**30, 2**20  # bytes: twenty times MNIST, and to count


@DATASETS.register_module()
class DigitImages(ImageSource):
    """1,797 digits of 8x8 pixels, each made 4x4 of its kind: 32x32.

    They need no download. A fifth of every class is the test set, always the
    same one.

    Args:
        split (str): ``'train'`` or ``'test'``. Defaults to ``'train'``.
    """

    def __init__(self, split: str = 'train') -> None:
        check_split(split)
        try:
            from sklearn.datasets import load_digits
        except ImportError as error:
            raise ImportError('The digits come with scikit-learn: run `pip '
                              'install scikit-learn`.') from error
        digits = load_digits()
        train, test = stratified_split(digits.target, TEST_RATIO, seed=0)
        chosen = train if split == 'train' else test
        images = np.rint(digits.images[chosen] * (255 / 16)).astype(np.uint8)
        images = images.repeat(SCALE, axis=1).repeat(SCALE, axis=2)
        super().__init__(
            torch.from_numpy(images)[:, None],
            torch.from_numpy(digits.target[chosen]).long(), DIGITS)


@DATASETS.register_module()
class IdxImages(ImageSource):
    """MNIST and its relatives, from their four original files.

    Args:
        data_root (str): Folder of ``train-images-idx3-ubyte``,
            ``train-labels-idx1-ubyte`` and the same two of ``t10k``, each
            with or without ``.gz``.
        split (str): ``'train'`` or ``'test'``. Defaults to ``'train'``.
        pad (int): Pixels of value 0 added at every side. Defaults to 2,
            which makes 32x32 of 28x28.
        limit (int, optional): Keep the first so many images only.
        classes (Sequence[str], optional): Names of the classes. Defaults to
            the ten digits.
        folder (str): Folder below ``data_root`` that holds the files.
            Defaults to none.
    """

    def __init__(self, data_root: str, split: str = 'train', pad: int = 2,
                 limit: int | None = None,
                 classes: Sequence[str] | None = None,
                 folder: str = '') -> None:
        check_split(split)
        if limit is not None and not is_positive(limit):
            raise ValueError(f'limit is {limit!r}: give a whole number above '
                             '0, or None for all images.')
        data_root = Path(data_root, folder)
        images = _read(data_root, split, 'images-idx3-ubyte', 3)[:limit]
        labels = _read(data_root, split, 'labels-idx1-ubyte', 1)[:limit]
        images = F.pad(torch.from_numpy(images), (pad, ) * 4)  # (N, H, W)
        super().__init__(images[:, None],
                         torch.from_numpy(labels).long(),
                         classes or DIGITS)


def read_idx(path: str | Path) -> np.ndarray:
    """Read an array of bytes in IDX format, ``.gz`` or not.

    The header is two zero bytes, the type of the elements, the number of
    dimensions, and each dimension as a big-endian 32-bit number.
    """
    opener = gzip.open if str(path).endswith('.gz') else open
    try:
        with opener(path, 'rb') as file:
            content = file.read(4)
            if len(content) < 4 or content[:2] != b'\0\0' or \
                    content[2] != _UINT8:
                raise ValueError(
                    f'{path} is not an IDX file of bytes: it starts with '
                    f'{content.hex() or "nothing"}.')
            header = file.read(4 * content[3])
            if len(header) < 4 * content[3]:
                raise ValueError(
                    f'{path} ends within its header: get it anew.')
            shape = struct.unpack(f'>{content[3]}I', header)
            size = math.prod(shape)
            if size > _MOST:
                raise ValueError(f'{path} holds {size} bytes, says its header '
                                 f'{shape}: that is not a dataset of small '
                                 'images.')
            content = file.read(size + _MORE)  # a bomb is not unpacked
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(
            f'{path} is broken ({error}): get it anew.') from error
    if len(content) != size:
        raise ValueError(
            f'{path} has {len(content)} elements'
            f'{" or more" * (len(content) == size + _MORE)}, but its header '
            f'says {shape}: get it anew.')
    return np.frombuffer(content, np.uint8).reshape(shape).copy()


def _read(root: Path, split: str, suffix: str, ndim: int) -> np.ndarray:
    name = f'{_PREFIXES[split]}-{suffix}'
    path = find_file(root, [name, f'{name}.gz'], 'The IDX dataset')
    array = read_idx(path)
    if array.ndim != ndim:
        raise ValueError(f'{path} has {array.ndim} dimensions, {ndim} are '
                         'needed: images and labels may have been swapped.')
    return array
