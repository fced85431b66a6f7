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

# the official table: name -> (id, train id)
LABEL_IDS = {
    'unlabeled': (0, 255),
    'ego vehicle': (1, 255),
    'rectification border': (2, 255),
    'out of roi': (3, 255),
    'static': (4, 255),
    'dynamic': (5, 255),
    'ground': (6, 255),
    'road': (7, 0),
    'sidewalk': (8, 1),
    'parking': (9, 255),
    'rail track': (10, 255),
    'building': (11, 2),
    'wall': (12, 3),
    'fence': (13, 4),
    'guard rail': (14, 255),
    'bridge': (15, 255),
    'tunnel': (16, 255),
    'pole': (17, 5),
    'polegroup': (18, 255),
    'traffic light': (19, 6),
    'traffic sign': (20, 7),
    'vegetation': (21, 8),
    'terrain': (22, 9),
    'sky': (23, 10),
    'person': (24, 11),
    'rider': (25, 12),
    'car': (26, 13),
    'truck': (27, 14),
    'bus': (28, 15),
    'caravan': (29, 255),
    'trailer': (30, 255),
    'train': (31, 16),
    'motorcycle': (32, 17),
    'bicycle': (33, 18),
    'license plate': (-1, -1),
}


def train_id(label: str) -> int | None:
    """Train id of a polygon's label.

    Args:
        label (str): As in the polygon files; a "group" that the table does
            not name (``cargroup``) counts as its members.

    Returns:
        int | None: 0 to 18, 255 for what is ignored, None for what is not
        drawn at all and leaves visible what lies below (license plates).
    """
    if label not in LABEL_IDS and label.endswith('group'):
        label = label.removesuffix('group')
    if label not in LABEL_IDS:
        raise KeyError(f'{label!r} is not a Cityscapes label; is this file '
                       'one of gtFine?')
    value = LABEL_IDS[label][1]
    return None if value < 0 else value


def draw_polygons(annotation: dict) -> Image.Image:
    """Draw the label map of one annotation; later polygons cover earlier.

    Args:
        annotation (dict): Content of a ``*_polygons.json`` file.

    Returns:
        Image.Image: Train ids, mode L.
    """
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
    """Draw the label maps of train and val that do not exist yet.

    Args:
        root (Path): Folder of ``leftImg8bit`` and ``gtFine``.

    Returns:
        int: Number of label maps written.
    """
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
    """Image and label map of every image of a split.

    Args:
        root (Path): Folder of ``leftImg8bit`` and ``gtFine``.
        split (str): 'train' or 'val'.

    Returns:
        list[tuple[Path, Path]]: The pairs, sorted by name.
    """
    images = root / 'leftImg8bit' / split
    return [(path, root / 'gtFine' / split / path.parent.name /
             path.name.replace('_leftImg8bit', '_gtFine_labelTrainIds'))
            for path in sorted(images.glob('*/*_leftImg8bit.png'))]


def check(root: Path) -> list[str]:
    """Check both splits; prints the counts.

    Args:
        root (Path): Folder of ``leftImg8bit`` and ``gtFine``.

    Returns:
        list[str]: Problems found.
    """
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
