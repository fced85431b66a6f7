"""Tiny ImageNet: 200 classes of 64x64 pixels."""
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from mmseg_spwc.errors import WHERE
from mmseg_spwc.registry import DATASETS

from .source import ImageSource, check_split, find_file

_FOLDERS = dict(train='train', test='val')
_SUFFIXES = ('.jpeg', '.jpg', '.png')


@DATASETS.register_module()
class TinyImageNet(ImageSource):
    """Tiny ImageNet from its image files.

    The labels of the official test set are not public, so its validation set
    is the test set here. Class ids follow the sorted names of the folders in
    ``train``.

    Args:
        data_root (str): Folder of ``train/<wnid>/images/*.JPEG`` and either
            ``val/images`` with ``val/val_annotations.txt`` or
            ``val/<wnid>/...``.
        split (str): ``'train'`` or ``'test'``. Defaults to ``'train'``.
        per_class (int, optional): Keep the first so many images of every
            class only.
    """

    def __init__(self, data_root: str, split: str = 'train',
                 per_class: int | None = None) -> None:
        check_split(split)
        classes = [folder.name for folder in _class_folders(data_root)]
        files = list_images(data_root, split)
        unknown = sorted({wnid for _, wnid in files} - set(classes))
        if unknown:
            raise ValueError(f'The class {unknown[0]} of the {split} set has '
                             f'no folder in {data_root}/train.')
        ids = {wnid: i for i, wnid in enumerate(classes)}
        super().__init__(
            torch.from_numpy(decode([path for path, _ in files])),
            torch.tensor([ids[wnid] for _, wnid in files]), classes,
            per_class=per_class)


def list_images(data_root: str, split: str) -> list[tuple[Path, str]]:
    """Return path and class (wnid) of every image, in a fixed order."""
    folder = Path(data_root) / _FOLDERS[split]
    if (folder / 'images').is_dir():
        files = _annotated(folder)
    else:
        files = [(path, wnid.name)
                 for wnid in _class_folders(data_root, _FOLDERS[split])
                 for path in _images_in(wnid)]
    if not files:
        raise FileNotFoundError(f'There is no image in {folder}: unpack '
                                'tiny-imagenet-200.zip once more.')
    return files


def decode(paths: Sequence[Path]) -> np.ndarray:
    """Read images of one size as uint8 (N, 3, H, W); grey become RGB."""
    first = _rgb(paths[0])
    images = np.empty((len(paths), *first.shape), dtype=np.uint8)
    for i, path in enumerate(paths):
        image = _rgb(path)
        if image.shape != first.shape:
            raise ValueError(
                f'{path} has {image.shape[1]}x{image.shape[0]} pixels, others '
                f'have {first.shape[1]}x{first.shape[0]}: unpack it once '
                'more.')
        images[i] = image
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2))


def _class_folders(root: str, split: str = 'train') -> list[Path]:
    folder = Path(root) / split
    if not folder.is_dir():
        raise FileNotFoundError(
            f'Tiny ImageNet is not complete: put the folders train and val '
            f'of tiny-imagenet-200.zip into {root}, ' + WHERE)
    return sorted(path for path in folder.iterdir() if path.is_dir())


def _images_in(folder: Path) -> list[Path]:
    inner = folder / 'images'
    files = (inner if inner.is_dir() else folder).iterdir()
    return sorted(f for f in files if f.suffix.lower() in _SUFFIXES)


def _annotated(folder: Path) -> list[tuple[Path, str]]:
    notes = find_file(folder, ['val_annotations.txt'], 'Tiny ImageNet')
    rows = [line.split('\t') for line in notes.read_text().splitlines()]
    files = [(folder / 'images' / row[0], row[1]) for row in rows if row[1:]]
    missing = [path for path, _ in files if not path.is_file()]
    if missing:
        raise FileNotFoundError(
            f'{len(missing)} images of {notes} are missing, the first is '
            f'{missing[0]}: unpack tiny-imagenet-200.zip once more.')
    return files


def _rgb(path: Path) -> np.ndarray:
    try:
        with Image.open(path) as image:
            return np.asarray(image.convert('RGB'))  # (H, W, 3)
    except OSError as error:
        raise ValueError(f'The image {path} cannot be read: {error}. Unpack '
                         'it once more.') from error
