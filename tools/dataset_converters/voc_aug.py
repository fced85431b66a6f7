"""Prepare PASCAL VOC 2012 with the extra SBD annotations.

ROOT is ``VOCdevkit/VOC2012`` as unpacked from VOCtrainval_11-May-2012.tar;
--sbd is the unpacked ``benchmark_RELEASE`` or the ``dataset`` folder in it.
Without --sbd what is already there is only checked. Writes

    ROOT/SegmentationClassAug/*.png          label maps from SBD's cls/*.mat
    ROOT/ImageSets/Segmentation/aug.txt      SBD's images but VOC's train, val

    python tools/dataset_converters/voc_aug.py data/VOCdevkit/VOC2012 \
        --sbd benchmark_RELEASE
"""
import argparse
import sys
from pathlib import Path

import numpy as np
from check_layout import count_line, find_problems, read_names, report
from PIL import Image

PUBLISHED = dict(train=1464, val=1449, aug=9118)
MASK_FOLDER = dict(
    train='SegmentationClass',
    val='SegmentationClass',
    aug='SegmentationClassAug')
LABELS = {*range(21), 255}
LISTS = 'ImageSets/Segmentation'


def voc_palette() -> np.ndarray:
    """VOC's colour map: bits 0, 3, 6 of the label are the high bits of red,
    bits 1, 4, 7 of green, bits 2, 5 of blue.
    """
    labels = np.arange(256)[:, None]
    channels = np.arange(3)
    colours = np.zeros((256, 3), np.uint8)
    for bit in range(3):
        bits = labels >> (3 * bit + channels) & 1
        colours |= (bits << (7 - bit)).astype(np.uint8)
    return colours


def aug_names(sbd: list[str], train: list[str], val: list[str]) -> list[str]:
    """Names of images annotated by SBD alone, sorted."""
    return sorted(set(sbd) - set(train) - set(val))


def read_sbd_mask(path: Path) -> np.ndarray:
    """Read the class label map of an SBD annotation."""
    try:
        from scipy.io import loadmat
    except ImportError as error:
        raise ImportError('SBD keeps its annotations in MATLAB files; to '
                          'read them run `pip install scipy`.') from error
    content = loadmat(str(path), squeeze_me=True, struct_as_record=False)
    return content['GTcls'].Segmentation.astype(np.uint8)


def convert_sbd(root: Path, sbd: Path) -> int:
    """Write the label maps and the list of the images annotated by SBD alone.

    The list is written last, so a list stands for a complete conversion.
    """
    if (sbd / 'dataset').is_dir():
        sbd = sbd / 'dataset'
    listed = read_names(sbd / 'train.txt') + read_names(sbd / 'val.txt')
    names = aug_names(listed, *(read_names(root / LISTS / f'{split}.txt')
                                for split in ('train', 'val')))
    palette = voc_palette().ravel().tolist()
    (root / MASK_FOLDER['aug']).mkdir(exist_ok=True)
    for name in names:
        mask = Image.fromarray(read_sbd_mask(sbd / 'cls' / f'{name}.mat'))
        mask.putpalette(palette)
        mask.save(root / MASK_FOLDER['aug'] / f'{name}.png')
    (root / LISTS / 'aug.txt').write_text('\n'.join(names) + '\n')
    return len(names)


def check(root: Path) -> list[str]:
    """Check the three lists and all that they name; prints the counts."""
    problems = []
    for split, published in PUBLISHED.items():
        path = root / LISTS / f'{split}.txt'
        if not path.is_file():
            problems.append(f'{path} is missing' + (
                '; make it with --sbd' if split == 'aug' else ''))
            continue
        names = read_names(path)
        print(count_line(split, len(names), published))
        problems += find_problems(
            [(root / 'JPEGImages' / f'{name}.jpg',
              root / MASK_FOLDER[split] / f'{name}.png') for name in names],
            LABELS)
    return problems


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('root', type=Path, help='VOCdevkit/VOC2012')
    parser.add_argument('--sbd', type=Path, help='unpacked SBD')
    args = parser.parse_args(argv)
    if args.sbd:
        written = convert_sbd(args.root, args.sbd)
        print(f'{written} label maps -> {args.root / MASK_FOLDER["aug"]}')
    return report(check(args.root))


if __name__ == '__main__':
    sys.exit(main())
