"""Digits in MNIST's files, made from those that come with scikit-learn."""
import struct
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits


def write_digits(folder: Path, train: int, seed: int = 0) -> None:
    """Write MNIST's four IDX files with generated images.

    An 8x8 digit becomes 24x24, is moved by up to two pixels within 28x28 and
    gets some noise.

    Args:
        folder (Path): Where to.
        train (int): Number of training images; a fifth as many test images.
        seed (int): Of moves and noise. Defaults to 0.
    """
    digits = load_digits()
    draw = np.random.default_rng(seed)
    cut = 4 * len(digits.target) // 5  # no image is of both parts
    parts = dict(train=(0, cut, train),
                 t10k=(cut, len(digits.target), max(train // 5, 1)))
    for name, (first, end, number) in parts.items():
        chosen = draw.integers(first, end, number)
        images = _moved(digits.images[chosen], draw)
        _write(folder / f'{name}-images-idx3-ubyte', images)
        _write(folder / f'{name}-labels-idx1-ubyte', digits.target[chosen])


def _moved(images: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    large = (images * (255 / 16)).repeat(3, axis=1).repeat(3, axis=2)
    out = draw.integers(0, 30, (len(images), 28, 28), np.uint8)
    for canvas, image, (y, x) in zip(
            out, large, draw.integers(0, 5, (len(images), 2)), strict=True):
        np.maximum(canvas[y:y + 24, x:x + 24], image.astype(np.uint8),
                   out=canvas[y:y + 24, x:x + 24])
    return out


def _write(path: Path, array: np.ndarray) -> None:
    header = bytes((0, 0, 8, array.ndim))
    path.write_bytes(header + struct.pack(f'>{array.ndim}I', *array.shape)
                     + array.astype(np.uint8).tobytes())
