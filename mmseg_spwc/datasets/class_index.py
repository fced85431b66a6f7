"""Which label values occur in which image: one scan, kept on disk.

The index is stored by image *name* beside a fingerprint of the mask files,
never by position in a list, so a re-ordered list file cannot scramble a
split and a changed mask is noticed.
"""
import hashlib
import json
import operator
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mmcv
import numpy as np
from mmengine.fileio import get as read_bytes
from PIL import ExifTags, Image

from mmseg_spwc.labels import VOID
from mmseg_spwc.terminal import say, track, warn
from mmseg_spwc.utils.distributed import from_first_rank
from mmseg_spwc.utils.files import read_text, write_text
from mmseg_spwc.utils.own import cache_folder

VERSION = 4
MOST = 2**16  # values that a mask can have
TURNED = range(5, 9)  # Exif orientations of images that lie on their side


def load_class_index(infos: list, root: str,
                     cache_dir: str | None = None) -> dict:
    """Label values in every image of a dataset, by name, as frozen sets.

    Images are named by their path below ``root``, without suffix. All masks
    are scanned once, on the main process only, and the result is kept in
    ``cache_dir``, ``$MMSEG_SPWC_CACHE`` or ``~/.cache/mmseg_spwc``. What
    cannot be read, is not a mask or does not fit its image is an error.
    """
    names = [
        Path(os.path.relpath(info['img_path'], root or '.')).with_suffix(
            '').as_posix() for info in infos
    ]
    if len(set(names)) != len(names):
        twice = next(n for i, n in enumerate(names) if n in names[:i])
        raise ValueError(
            f'The image {twice} is listed twice. A step needs every image '
            'once: remove the repeated line from the list files (for SBD, '
            'aug.txt must not repeat train.txt), and use more epochs instead '
            'of RepeatDataset.')
    index = from_first_rank(_load_or_scan, infos, names, cache_dir)
    return {name: index[name] for name in names}


def _load_or_scan(infos: list, names: list, cache_dir: str | None) -> dict:
    _check_files(infos)
    fingerprint = _fingerprint(infos, names)
    path = cache_folder(cache_dir) / f'classes-{fingerprint[:16]}.json'
    stored = _read(path, fingerprint)
    if stored is None:
        tasks = [(info['img_path'], info['seg_map_path'],
                  info.get('reduce_zero_label', False),
                  info.get('label_map') or {}) for info in infos]
        say(f'Scanning {len(tasks)} masks for their classes (once)')
        # threads: a process with torch's threads cannot be forked safely,
        # and decoding lets the others run
        with ThreadPoolExecutor(min(os.cpu_count() or 1, 16)) as pool:
            values = pool.map(_values_of_mask, tasks)
            values = list(track(values, len(tasks), 'masks'))
        stored = dict(zip(names, values, strict=True))
        _keep(path, dict(version=VERSION, fingerprint=fingerprint,
                         classes=stored))
    return {name: frozenset(values) for name, values in stored.items()}


def _keep(path: Path, content: dict) -> None:
    try:
        write_text(path, json.dumps(content))
    except OSError as error:
        warn(f'What the masks hold cannot be kept in {path} '
             f'({error.strerror}), so that they are scanned anew next time: '
             'choose another cache_dir.')


def _values_of_mask(task: tuple) -> list:
    image, path, reduce_zero_label, label_map = task
    try:
        mask = mmcv.imfrombytes(
            read_bytes(path), flag='unchanged', backend='pillow')
    except Exception as error:
        raise ValueError(f'The mask {path} cannot be read ({error}): get it '
                         'anew.') from error
    if mask.ndim != 2 or not np.issubdtype(mask.dtype, np.integer):
        raise ValueError(
            f'The mask {path} holds {mask.dtype} of shape {mask.shape}; a '
            'mask has one channel of class ids. Colour masks must be '
            'converted first.')
    if mask.size and not 0 <= int(mask.min()) <= int(mask.max()) < MOST:
        raise ValueError(f'The mask {path} holds the value {mask.max()}, '
                         'which is no class id: convert it once more.')
    _check_size(image, path, mask.shape)
    values = np.flatnonzero(np.bincount(mask.ravel(), minlength=256))
    if reduce_zero_label:
        values = values[(values != 0) & (values != VOID)] - 1
    return sorted({int(label_map.get(int(v), v)) for v in values})


def _check_size(image: str, mask: str, shape: tuple) -> None:
    """Compare a mask with its image, of which only the header is read."""
    try:
        with Image.open(image) as opened:
            size = opened.size
            turned = opened.getexif().get(ExifTags.Base.Orientation) in TURNED
    except (OSError, Image.DecompressionBombError) as error:
        raise ValueError(f'The image {image} cannot be read ({error}): get '
                         'it anew.') from error
    if size[::-1] != shape and not (turned and size == shape):
        raise ValueError(
            f'The mask {mask} has {shape[1]}x{shape[0]} pixels, its image '
            f'{size[0]}x{size[1]}: a mask has the size of its image; '
            'convert it once more.')
    if min(size) < 2:
        raise ValueError(f'The image {image} has {size[0]}x{size[1]} pixels, '
                         'too few to segment: take it out of the list.')


def _check_files(infos: list) -> None:
    for key, what in (('img_path', 'image'), ('seg_map_path', 'mask')):
        missing = [i[key] for i in infos if not os.path.exists(i[key])]
        if missing:
            raise FileNotFoundError(
                f'{len(missing)} of {len(infos)} {what} files are missing, '
                f'the first is {missing[0]}. Check data_root and the list '
                'file; data/README.md shows the layout.')


def _fingerprint(infos: list, names: list) -> str:
    digest = hashlib.sha256(f'v{VERSION}'.encode())
    for name, info in sorted(zip(names, infos, strict=True),
                             key=lambda pair: pair[0]):
        digest.update(name.encode())
        for path in (info['img_path'], info['seg_map_path']):
            stat = os.stat(path)
            digest.update(f'|{stat.st_size}|{stat.st_mtime_ns}'.encode())
        digest.update(f'|{info.get("reduce_zero_label", False)}\n'.encode())
        if info.get('label_map'):
            digest.update(f'{sorted(info["label_map"].items())}'.encode())
    return digest.hexdigest()


def _read(path: Path, fingerprint: str) -> Mapping | None:
    """The stored index, or None where it is absent, broken or outdated."""
    try:
        content = json.loads(read_text(path))
        if content['fingerprint'] != fingerprint:
            return None
        return {str(name): [operator.index(value) for value in values]
                for name, values in content['classes'].items()}
    except (OSError, ValueError, AttributeError, LookupError, TypeError):
        return None
