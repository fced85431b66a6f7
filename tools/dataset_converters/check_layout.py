"""What every preparation script checks: are images and label maps all there,
and do the label maps hold only the values they may hold?

Used by the scripts beside it; it is not run by itself.
"""
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image

MAX_SHOWN = 5


def read_names(path: Path) -> list[str]:
    """Read an image list: one name a line, blank lines ignored.

    Args:
        path (Path): A file such as ``ImageSets/Segmentation/train.txt``.

    Returns:
        list[str]: The names in the order of the file.
    """
    if not path.is_file():
        raise FileNotFoundError(f'{path} does not exist; is the dataset '
                                'unpacked where data/README.md says?')
    return [line.strip() for line in path.read_text().splitlines()
            if line.strip()]


def label_values(path: Path) -> set[int]:
    """The values of a label map.

    Args:
        path (Path): A PNG of one byte per pixel, greyscale or palette.

    Returns:
        set[int]: The values that occur.
    """
    with Image.open(path) as mask:
        if mask.mode not in ('L', 'P'):
            raise ValueError(
                f'{path} has mode {mask.mode}; a label map has one byte a '
                'pixel (mode L or P).')
        return set(np.flatnonzero(mask.histogram()).tolist())


def find_problems(pairs: Iterable[tuple[Path, Path]],
                  allowed: set[int]) -> list[str]:
    """Look at images and their label maps.

    Args:
        pairs (Iterable[tuple[Path, Path]]): Image and label map of each
            sample.
        allowed (set[int]): Values that a label map may hold.

    Returns:
        list[str]: One line for each missing file and each bad label map.
    """
    problems = []
    for image, mask in pairs:
        missing = [path for path in (image, mask) if not path.is_file()]
        problems += [f'{path} is missing' for path in missing]
        if not missing:
            problems += _mask_problems(image, mask, allowed)
    return problems


def _mask_problems(image: Path, mask: Path, allowed: set[int]) -> list[str]:
    try:
        with Image.open(image) as one, Image.open(mask) as other:
            if one.size != other.size:
                return [f'{mask} is {other.size[0]} x {other.size[1]} pixels, '
                        f'its image {one.size[0]} x {one.size[1]}']
        bad = label_values(mask) - allowed
    except (OSError, ValueError) as error:
        return [str(error)]
    return [f'{mask} holds the values {sorted(bad)}'] if bad else []


def count_line(what: str, found: int, published: int) -> str:
    """One line that compares a count with the published one.

    Args:
        what (str): Name of the split.
        found (int): Samples found.
        published (int): Samples of the complete dataset.

    Returns:
        str: The line; it says so where the counts differ.
    """
    line = f'{what}: {found} samples'
    if found == published:
        return line
    return f'{line}, but the complete dataset has {published}'


def report(problems: list[str]) -> int:
    """Print the problems, the first few in full.

    Args:
        problems (list[str]): What :func:`find_problems` returned.

    Returns:
        int: Exit code: 1 if there are problems, else 0.
    """
    for problem in problems[:MAX_SHOWN]:
        print(f'PROBLEM: {problem}')
    if len(problems) > MAX_SHOWN:
        print(f'... and {len(problems) - MAX_SHOWN} more problems')
    print('Not ready to use.' if problems else 'Ready to use.')
    return int(bool(problems))
