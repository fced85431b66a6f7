"""Prepare Cityscapes: label maps of train ids, drawn from the polygons.

ROOT holds the unpacked ``leftImg8bit`` and ``gtFine``. For every

    ROOT/gtFine/{train,val}/CITY/*_gtFine_polygons.json

without its ``*_gtFine_labelTrainIds.png`` the latter is written; then all
label maps are checked. The package cityscapesscripts is not needed.

    python tools/dataset_converters/cityscapes.py data/cityscapes
"""
import argparse
import json
import sys
from pathlib import Path

from check_layout import count_line, find_problems, report
from PIL import Image, ImageDraw

PUBLISHED = dict(train=2975, val=500)
IGNORE = 255
LABELS = {*range(19), IGNORE}

# the official table: what is scored, by train id, and what is ignored
SCORED = (
    'road', 'sidewalk', 'building', 'wall', 'fence', 'pole', 'traffic light',
    'traffic sign', 'vegetation', 'terrain', 'sky', 'person', 'rider', 'car',
    'truck', 'bus', 'train', 'motorcycle', 'bicycle')
IGNORED = (
    'unlabeled', 'ego vehicle', 'rectification border', 'out of roi', 'static',
    'dynamic', 'ground', 'parking', 'rail track', 'guard rail', 'bridge',
    'tunnel', 'polegroup', 'caravan', 'trailer')
TRAIN_IDS = {**dict.fromkeys(IGNORED, IGNORE), 'license plate': None,
             **{name: i for i, name in enumerate(SCORED)}}


def train_id(label: str) -> int | None:
    """Train id of a polygon's label; None for what is not drawn at all.

    A "group" that the table does not name (``cargroup``) counts as its
    members. License plates leave visible what lies below.
    """
    if label not in TRAIN_IDS and label.endswith('group'):
        label = label.removesuffix('group')
    if label not in TRAIN_IDS:
        raise KeyError(f'{label!r} is not a Cityscapes label; is this file '
                       'one of gtFine?')
    return TRAIN_IDS[label]


def draw_polygons(annotation: dict) -> Image.Image:
    """Draw the label map of one annotation; later polygons cover earlier."""
    size = annotation['imgWidth'], annotation['imgHeight']
    mask = Image.new('L', size, IGNORE)
    draw = ImageDraw.Draw(mask)
    for item in annotation['objects']:
        value = None if item.get('deleted') else train_id(item['label'])
        if value is not None:
            draw.polygon([tuple(point) for point in item['polygon']],
                         fill=value)
    return mask


def write_missing_masks(root: Path) -> int:
    """Draw the label maps of train and val that do not exist yet."""
    written = 0
    for path in sorted(root.glob('gtFine/*/*/*_polygons.json')):
        target = path.with_name(
            path.name.replace('_polygons.json', '_labelTrainIds.png'))
        if path.parts[-3] in PUBLISHED and not target.is_file():
            partial = target.with_suffix('.partial')
            mask = draw_polygons(json.loads(path.read_text()))
            mask.save(partial, format='PNG')
            partial.rename(target)  # a stopped run leaves no half file
            written += 1
    return written


def sample_pairs(root: Path, split: str) -> list[tuple[Path, Path]]:
    """Image and label map of every image of a split."""
    images = root / 'leftImg8bit' / split
    return [(path, root / 'gtFine' / split / path.parent.name /
             path.name.replace('_leftImg8bit', '_gtFine_labelTrainIds'))
            for path in sorted(images.glob('*/*_leftImg8bit.png'))]


def check(root: Path) -> list[str]:
    """Check both splits; prints the counts."""
    problems = []
    for split, published in PUBLISHED.items():
        pairs = sample_pairs(root, split)
        print(count_line(split, len(pairs), published))
        if not pairs:
            problems.append(f'{root} has no leftImg8bit/{split}/CITY/*.png; '
                            'ROOT holds leftImg8bit and gtFine')
        problems += find_problems(pairs, LABELS)
    return problems


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('root', type=Path,
                        help='folder of leftImg8bit and gtFine')
    root = parser.parse_args(argv).root
    print(f'{write_missing_masks(root)} label maps drawn from polygons')
    return report(check(root))


if __name__ == '__main__':
    sys.exit(main())
