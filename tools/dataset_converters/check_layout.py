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
    """Read an image list: one name a line, blank lines ignored."""
    if not path.is_file():
        raise FileNotFoundError(f'{path} does not exist; is the dataset '
                                'unpacked where data/README.md says?')
    return [line.strip() for line in path.read_text().splitlines()
            if line.strip()]


def label_values(path: Path) -> set[int]:
    """The values of a label map, a PNG of one byte per pixel."""
    with Image.open(path) as mask:
        if mask.mode not in ('L', 'P'):
            raise ValueError(
                f'{path} has mode {mask.mode}; a label map has one byte a '
                'pixel (mode L or P).')
        return set(np.flatnonzero(mask.histogram()).tolist())


def find_problems(pairs: Iterable[tuple[Path, Path]],
                  allowed: set[int]) -> list[str]:
    """One line for each missing file and each bad label map of the pairs."""
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
    """A line with a count; it says so where the published one differs."""
    line = f'{what}: {found} samples'
    if found == published:
        return line
    return f'{line}, but the complete dataset has {published}'


def report(problems: list[str]) -> int:
    """Print the first few problems; return the exit code, 1 if any."""
    for problem in problems[:MAX_SHOWN]:
        print(f'PROBLEM: {problem}')
    if len(problems) > MAX_SHOWN:
        print(f'... and {len(problems) - MAX_SHOWN} more problems')
    print('Not ready to use.' if problems else 'Ready to use.')
    return int(bool(problems))
