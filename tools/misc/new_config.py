"""Look at a folder of images and masks, and write a config to fill in.

    mmseg-spwc new IMAGES MASKS --base MMSEG_CONFIG.py --start-from WEIGHTS.pth
    mmseg-spwc new IMAGES MASKS --base CONFIG.py -o LARGER_CONFIG.py

The first config teaches a model of mmseg the classes of the folder; the second
one adds a step to it.
"""
import argparse
import contextlib
import os.path
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from mmseg_spwc.apis.inference import SUFFIXES
from mmseg_spwc.config.load import read_config
from mmseg_spwc.errors import ConfigError, plain, tool_errors
from mmseg_spwc.labels import VOID
from mmseg_spwc.terminal import track
from mmseg_spwc.utils.files import write_text

MASKS = ('.png', '.bmp', '.tif', '.tiff')
SHOWN = 3  # files that a message names
FIRST = '''# name the classes; then browse it, and
# mmseg-spwc train {out}
_base_ = [{base!r},
          'mmseg_spwc::_base_/methods/mib.py']
work_dir = {work_dir!r}
start_from = {start!r}
{folder}
scenario = dict(dataset={name!r}, steps=[
    dict(classes='start_from'),  # and data=None if its images are gone
    {step}])
schedule = dict(later=dict(
    train_cfg=dict({length}),
    optim_wrapper=dict(optimizer=dict(lr={rate}))))
'''
LATER = '''# name the classes; then browse it, and
# mmseg-spwc extend {out}
_base_ = {base!r}
{folder}
scenario = dict(steps=[
    *_base_.scenario.steps,
    {step}])
'''
FOLDER = '''folder = dict(
    data_prefix=dict(
        img_path={images!r},
        seg_map_path={masks!r}),
    img_suffix={image_suffix!r}, seg_map_suffix={mask_suffix!r})'''
STEP = '''dict(classes={classes}, data=dict(
        labels=dict({labels}),
        train=dict(folder, ann_file={train!r}),
        test=dict(folder, ann_file={test!r})))'''
TO_FILL = 'FILL IN: {}'
SHORTER = 2  # a step is shorter and slower than the training before it


@dataclass(frozen=True)
class Survey:
    """What was found in the two folders."""
    images: Path
    masks: Path
    image_suffix: str  # how the name of every image ends
    mask_suffix: str
    names: list  # of the images that have a mask, without suffix
    alone: list  # images that have none
    sides: tuple  # the shortest and the longest of the images
    in_images: dict  # by label value, the images that show it
    pixels: dict  # by label value, its share of all pixels

    @property
    def pairs(self) -> int:
        """How many images have a mask."""
        return len(self.names)

    @property
    def background(self) -> int | None:
        """A guess: 0 where most images show it, else what most pixels are."""
        if self.in_images.get(0, 0) > self.pairs / 2:
            return 0
        return next((value for value, share in self.pixels.items()
                     if share > 0.5 and value != VOID), None)

    @property
    def classes(self) -> dict[str, int]:
        """A name to fill in for every value that may be a class."""
        return {f'class_{value}': value for value in self.in_images
                if value not in (VOID, self.background)}


def survey(images: str | Path, masks: str | Path) -> Survey:
    """Look at all files of two folders, and of those below them.

    A mask has one channel, with a value from 0 to 255 for each class, and is
    named as its image is but for an ending.
    """
    images, masks = Path(images), Path(masks)
    pictures, labels = _files(images, SUFFIXES), _files(masks, MASKS)
    image_end, mask_end = _ending(pictures), _ending(labels)
    masks_of = {name.removesuffix(mask_end): name for name in labels}
    pairs = {name: masks_of[name.removesuffix(image_end)]
             for name in pictures
             if name.removesuffix(image_end) in masks_of}
    if not pairs:
        raise ConfigError(
            f'No image has a mask: {images} holds {_some(pictures)}, {masks} '
            f'holds {_some(labels)}. A mask is named as its image is, but '
            'for an ending that all masks share.')
    in_images, pixels, sides = Counter(), Counter(), set()
    for image, mask in track(pairs.items(), len(pairs), 'masks'):
        values = _values(masks / mask)
        with _opened(images / image) as opened:
            sides.update(opened.size)
        in_images.update(values.keys())
        pixels.update(values)
    total = sum(pixels.values())
    return Survey(
        images, masks, image_end, mask_end,
        [name.removesuffix(image_end) for name in pairs],
        sorted(set(pictures) - set(pairs)), (min(sides), max(sides)),
        dict(sorted(in_images.items())),
        {value: count / total for value, count in sorted(pixels.items())})


def _files(folder: Path, suffixes: tuple) -> list[str]:
    names = sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob('*')
        if path.suffix.lower() in suffixes)
    if not names:
        raise ConfigError(f'{folder} holds no file that ends in '
                          f'{", ".join(suffixes)}.')
    return names


def _ending(names: list[str]) -> str:
    """What all names end in, from the last place where they differ.

    It begins where the suffix does or at a mark before it, so that
    ``a_10.png`` and ``b_10.png`` do not make ``10`` part of it by chance.
    """
    backwards = os.path.commonprefix([name[::-1] for name in names])
    shared = backwards[::-1]
    suffix = Path(names[0]).suffix
    if len(names) == 1 or not shared.endswith(suffix):
        if len({Path(name).suffix for name in names}) > 1:
            raise ConfigError(
                f'The files end differently: {_some(names)}. Give them one '
                'suffix; a dataset of mmseg has one.')
        return suffix
    marked = [i for i, letter in enumerate(shared) if letter in '_-.']
    return shared[marked[0]:]


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    try:
        with Image.open(path) as opened:
            yield opened
    except Exception as error:  # decoders raise of every kind
        raise ConfigError(f'{path} cannot be read as an image ({error}).'
                          ) from error


def _values(path: Path) -> dict[int, int]:
    """Pixels by label value."""
    with _opened(path) as opened:
        mask = np.asarray(opened)
    if mask.ndim != 2:
        raise ConfigError(
            f'{path} is a picture in colour. A mask has one channel that '
            'holds a class id for every pixel: convert the masks first, one '
            'id for each colour.')
    if mask.dtype == bool:
        mask = mask.astype(np.uint8)
    if mask.min() < 0 or mask.max() > VOID:
        raise ConfigError(f'{path} holds values from {mask.min()} to '
                          f'{mask.max()}: class ids go from 0 to {VOID}.')
    counts = np.bincount(mask.astype(np.uint8).ravel())
    return {int(v): int(counts[v]) for v in np.flatnonzero(counts)}


def _some(names: Iterable[str]) -> str:
    names = list(names)
    more = ', ...' if len(names) > SHOWN else ''
    return plain(', '.join(names[:SHOWN])) + more


def table(found: Survey) -> str:
    """What a person reads first: values, how often, and what they may be."""
    lines = [f'{found.pairs} images with masks, sides from {found.sides[0]} '
             f'to {found.sides[1]} pixels']
    if found.alone:
        lines.append(f'{len(found.alone)} images without a mask are left '
                     f'out: {_some(found.alone)}')
    lines.append('value   images   pixels   looks like')
    for value, count in found.in_images.items():
        lines.append(f'{value:5}   {count:6}   {found.pixels[value]:6.1%}   '
                     f'{_guess(found, value)}')
    return '\n'.join(lines)


def _guess(found: Survey, value: int) -> str:
    if value == VOID:
        return 'void: not counted'
    if value == found.background:
        return 'background'
    return 'a class'


def draft(found: Survey, out: str | Path, base: str | None = None,
          start: str | None = None) -> str:
    """Write the config, with names to fill in.

    Args:
        found (Survey): What is in the folders.
        out (str | Path): The config's file.
        base (str, optional): Config of the model that learns on, of mmseg,
            or one of ours, which gets a further step.
        start (str, optional): Checkpoint of that model.
    """
    values = dict(found.classes)
    if found.background is not None:
        values['background'] = found.background
    if VOID in found.in_images:
        values['void'] = VOID
    train, test = lists_beside(out)
    cfg = read_config(str(base)) if base else {}
    parts = dict(
        out=Path(out).name,
        base=os.path.abspath(base) if base else TO_FILL.format(
            'the mmseg config of your model'),
        start=os.path.abspath(start) if start else TO_FILL.format(
            'the checkpoint of your model'),
        name=found.images.resolve().parent.name or 'mine',
        work_dir=f'work_dirs/{Path(out).stem}',
        folder=FOLDER.format(
            images=str(found.images.resolve()),
            masks=str(found.masks.resolve()),
            image_suffix=found.image_suffix, mask_suffix=found.mask_suffix),
        step=STEP.format(
            classes=list(found.classes),
            labels=', '.join(f'{k}={v}' for k, v in values.items()),
            train=str(train), test=str(test)))
    if cfg.get('scenario'):
        return LATER.format(**parts)
    length, rate = _shorter(cfg)
    return FIRST.format(**parts, length=length, rate=rate)


def lists_beside(out: str | Path) -> tuple[Path, Path]:
    """Where the names of the images to train on and to test on go."""
    place = Path(out).resolve()
    return tuple(place.with_name(f'{place.stem}_{role}.txt')
                 for role in ('train', 'test'))


def _shorter(cfg: Mapping) -> tuple[str, str]:
    """Length and learning rate of a step, from those of the base."""
    given = cfg.get('train_cfg') or {}
    key = 'max_epochs' if 'max_epochs' in given else 'max_iters'
    length = given.get(key)
    rate = ((cfg.get('optim_wrapper') or {}).get('optimizer') or {}).get('lr')
    fill = repr(TO_FILL.format('less than in the config of your model'))
    return (f'{key}={max(length // SHORTER, 1) if length else fill}',
            fill if rate is None else f'{rate / SHORTER:.2g}')


def main() -> int:
    parser = argparse.ArgumentParser(description='Write a config')
    parser.add_argument('images', help='folder of images')
    parser.add_argument('masks', help='folder of their masks')
    parser.add_argument(
        '-o', '--out', default='new_step.py', help='the config to write')
    parser.add_argument(
        '--base', help='mmseg config of the model that learns the classes, '
        'or the config that they are added to')
    parser.add_argument('--start-from', help='checkpoint of that model')
    parser.add_argument(
        '--test', type=int, default=5, metavar='N',
        help='every Nth image tests and does not train (default: 5)')
    args = parser.parse_args()
    with tool_errors():
        files = [Path(args.out), *lists_beside(args.out)]
        for file in files:
            if file.exists():
                raise ConfigError(f'{file} is there already: give another '
                                  'name with -o.')
        if args.test < 2:
            raise ConfigError(f'--test is {args.test}: give 2 or more.')
        found = survey(args.images, args.masks)
        print(table(found))
        text = draft(found, args.out, args.base, args.start_from)
        test = found.names[::args.test]
        train = [name for name in found.names if name not in {*test}]
        for file, content in zip(
                files, (text, *('\n'.join(names) + '\n'
                                for names in (train, test))), strict=True):
            write_text(file, content)
    print(f'{len(train)} images train, {len(test)} test')
    print(f'{args.out}: name the classes in it, then see what a step would '
          f'train on: mmseg-spwc browse {args.out}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
