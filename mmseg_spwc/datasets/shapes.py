"""The shapes dataset: generated, in PASCAL VOC's layout, learnt in minutes.

It stands in for VOC where no data can be had: demos, tests, tutorials.
"""
import hashlib
import json
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path

import cv2
import numpy as np
from mmseg.datasets import BaseSegDataset
from PIL import Image

from mmseg_spwc.labels import VOID
from mmseg_spwc.registry import DATASETS
from mmseg_spwc.utils.distributed import from_first_rank

from .shapes_drawing import draw_sample
from .shapes_outlines import CLASSES

VERSION = 1  # raise it whenever the same seed draws something else
RECORD = 'shapes.json'
SPLITS = ('train', 'val')
MIN_SIZE = 32  # below it textures and border lines eat the objects
PALETTE = [[0, 0, 0], [200, 48, 48], [112, 88, 224], [56, 168, 96],
           [232, 144, 48], [176, 64, 200], [64, 184, 184], [208, 200, 64],
           [216, 72, 144], [56, 120, 208], [144, 208, 72]]


def generate_shapes(root: str | Path,
                    num_train: int = 1200,
                    num_val: int = 300,
                    size: int = 96,
                    seed: int = 0,
                    num_workers: int = 1) -> Path:
    """Write the shapes dataset, or find it already written.

    The folder appears complete or not at all: it is built beside ``root`` and
    renamed. ``root/shapes.json`` keeps the parameters and a digest of every
    file. Each image depends on ``seed``, its split and its number only.

    Args:
        root (str | Path): Folder to create.
        num_train (int): Number of training images.
        num_val (int): Number of validation images.
        size (int): Height and width of the images in pixels.
        seed (int): Seed of the whole dataset.
        num_workers (int): Processes to draw with; the result is the same.

    Returns:
        Path: ``root``.

    Raises:
        ValueError: A parameter is out of range.
        FileExistsError: ``root`` holds something else, or this dataset with
            other parameters.
    """
    counts = dict(train=num_train, val=num_val)
    parameters = dict(
        num_train=num_train, num_val=num_val, size=size, seed=seed)
    _check_parameters(**parameters, num_workers=num_workers)
    root = Path(root).absolute()
    if _is_finished(root, parameters):
        return root
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
            dir=root.parent, prefix=f'.{root.name}-') as scratch:
        built = Path(scratch) / root.name
        _write_dataset(built, counts, size, seed, num_workers)
        record = dict(
            version=VERSION, parameters=parameters, sha256=digest(built))
        (built / RECORD).write_text(json.dumps(record, indent=2) + '\n')
        try:
            built.rename(root)
        except OSError:  # another process finished first
            if not _is_finished(root, parameters):
                raise
    return root


def digest(root: str | Path) -> str:
    """SHA-256 over the names and bytes of all files but the record.

    Args:
        root (str | Path): Folder of a shapes dataset.

    Returns:
        str: Hexadecimal digest, equal to ``sha256`` of an intact folder's
        ``shapes.json``.
    """
    root = Path(root)
    total = hashlib.sha256()
    for path in sorted(root.glob('*/**/*')):
        if path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f'{path.relative_to(root).as_posix()} {content}\n'
                         .encode())
    return total.hexdigest()


def _check_parameters(num_train: int, num_val: int, size: int, seed: int,
                      num_workers: int) -> None:
    lowest = dict(num_train=(num_train, 1), num_val=(num_val, 1),
                  size=(size, MIN_SIZE), seed=(seed, 0),
                  num_workers=(num_workers, 1))
    for name, (value, least) in lowest.items():
        if not isinstance(value, int) or value < least:
            raise ValueError(f'{name} must be an integer of at least {least}, '
                             f'but got {value!r}.')


def _is_finished(root: Path, parameters: dict) -> bool:
    """Whether ``root`` holds just this dataset; raises if something else."""
    if not root.exists() or (root.is_dir() and not any(root.iterdir())):
        return False
    if not (root / RECORD).is_file():
        raise FileExistsError(
            f'{root} exists but is not a generated shapes dataset (no '
            f'{RECORD} in it); choose another folder or remove it.')
    found = json.loads((root / RECORD).read_text())
    wanted = dict(version=VERSION, parameters=parameters)
    present = {key: found[key] for key in wanted}
    if present != wanted:
        raise FileExistsError(
            f'{root} holds a shapes dataset made with {present}, but {wanted} '
            'is wanted; choose another folder or remove it.')
    return True


def _write_dataset(root: Path, counts: dict, size: int, seed: int,
                   num_workers: int) -> None:
    lists = root / 'ImageSets' / 'Segmentation'
    for folder in (root / 'JPEGImages', root / 'SegmentationClass', lists):
        folder.mkdir(parents=True)
    write = partial(_write_sample, root, size, seed)
    for split, count in counts.items():
        if num_workers == 1:
            names = [write(split, index) for index in range(count)]
        else:
            with _workers(num_workers) as pool:
                names = list(
                    pool.map(partial(write, split), range(count),
                             chunksize=16))
        (lists / f'{split}.txt').write_text('\n'.join(names) + '\n')


def _workers(number: int) -> ProcessPoolExecutor:
    """Processes forked, where that is possible, to save importing torch."""
    fork = 'fork' if 'fork' in get_all_start_methods() else None
    return ProcessPoolExecutor(
        number,
        mp_context=get_context(fork),
        # OpenCV's threads do not live on in a fork: do without
        initializer=cv2.setNumThreads,
        initargs=(0, ))


def _write_sample(root: Path, size: int, seed: int, split: str,
                  index: int) -> str:
    rng = np.random.default_rng([seed, SPLITS.index(split), index])
    image, label = draw_sample(size, rng)
    name = f'{split}_{index:06d}'
    Image.fromarray(image).save(root / f'JPEGImages/{name}.jpg', quality=95)
    mask = Image.fromarray(label)
    mask.putpalette(_png_palette())
    mask.save(root / f'SegmentationClass/{name}.png')
    return name


def _png_palette() -> list[int]:
    """The classes' colours, black, and off-white for the ignored border."""
    colours = np.zeros((256, 3), np.uint8)
    colours[:len(PALETTE)] = PALETTE
    colours[VOID] = (224, 224, 192)
    return colours.ravel().tolist()


@DATASETS.register_module()
class ShapesDataset(BaseSegDataset):
    """Textured shapes on clutter: background and ten classes.

    Args:
        generate (dict, optional): Arguments of :func:`generate_shapes` except
            ``root``, which is ``data_root``. The main process generates the
            data if they are missing, and every process waits for it, so
            every process must build the dataset. Defaults to None: the data
            must be there.
        img_suffix (str): Suffix of the images. Defaults to '.jpg'.
        seg_map_suffix (str): Suffix of the label maps. Defaults to '.png'.
        reduce_zero_label (bool): Whether label 0 is ignored and the others
            move down by one. Defaults to False.
        **kwargs: Arguments of ``BaseSegDataset``; ``data_prefix`` defaults to
            the generated layout.
    """
    METAINFO = dict(classes=('background', *CLASSES), palette=PALETTE)

    def __init__(self,
                 generate: dict | None = None,
                 img_suffix: str = '.jpg',
                 seg_map_suffix: str = '.png',
                 reduce_zero_label: bool = False,
                 **kwargs) -> None:
        if generate is not None:
            self._generate(kwargs.get('data_root'), generate)
        kwargs.setdefault(
            'data_prefix',
            dict(img_path='JPEGImages', seg_map_path='SegmentationClass'))
        super().__init__(
            img_suffix=img_suffix,
            seg_map_suffix=seg_map_suffix,
            reduce_zero_label=reduce_zero_label,
            **kwargs)

    def load_data_list(self) -> list[dict]:
        if self.ann_file and not Path(self.ann_file).is_file():
            raise FileNotFoundError(
                f'{self.ann_file} does not exist; set `generate=dict()` to '
                'have the shapes dataset written to `data_root`.')
        return super().load_data_list()

    @staticmethod
    def _generate(data_root: str | None, arguments: dict) -> None:
        if not data_root:
            raise ValueError('`generate` needs `data_root`, the folder to '
                             'write the shapes dataset into.')
        from_first_rank(generate_shapes, data_root, **arguments)
