"""Check ADE20K as the scene parsing challenge of 2016 distributes it.

ROOT is the unpacked ``ADEChallengeData2016``; it is used as it is. Label 0
("void": other objects) is read as background, 1 to 150 are the classes.

    python tools/dataset_converters/ade20k.py data/ade/ADEChallengeData2016
"""
import argparse
import sys
from pathlib import Path

from check_layout import count_line, find_problems, report

PUBLISHED = dict(training=20210, validation=2000)
LABELS = set(range(151))


def sample_pairs(root: Path, split: str) -> list[tuple[Path, Path]]:
    """Image and label map of every name that either folder has."""
    images, masks = root / 'images' / split, root / 'annotations' / split
    names = {path.stem for path in images.glob('*.jpg')}
    names |= {path.stem for path in masks.glob('*.png')}
    return [(images / f'{name}.jpg', masks / f'{name}.png')
            for name in sorted(names)]


def check(root: Path) -> list[str]:
    """Check both splits; prints the counts."""
    problems = []
    for split, published in PUBLISHED.items():
        pairs = sample_pairs(root, split)
        print(count_line(split, len(pairs), published))
        if not pairs:
            problems.append(f'{root} has no images/{split}/*.jpg; ROOT is '
                            'the folder ADEChallengeData2016')
        problems += find_problems(pairs, LABELS)
    return problems


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('root', type=Path, help='ADEChallengeData2016')
    return report(check(parser.parse_args(argv).root))


if __name__ == '__main__':
    sys.exit(main())
