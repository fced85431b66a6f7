"""Look at a folder of images and masks, and write a config to fill in.

    mmseg-spwc new IMAGES MASKS [-o CONFIG.py] [--base MMSEG_CONFIG.py]
"""
import argparse
import sys
from pathlib import Path


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Write a config')
    parser.add_argument('images', help='folder of images')
    parser.add_argument('masks', help='folder of their masks')
    parser.add_argument(
        '-o', '--out', default='new_step.py', help='the config to write')
    parser.add_argument(
        '--base', help='mmseg config of the model that learns the classes')
    return parser.parse_args()


def main() -> int:
    args = parse_args()
    from mmseg_spwc.apis.new_config import draft, survey, table
    from mmseg_spwc.errors import ConfigError, tool_errors
    from mmseg_spwc.utils.files import write_text
    with tool_errors():
        if Path(args.out).exists():
            raise ConfigError(f'{args.out} is there already: give another '
                              'name with -o.')
        found = survey(args.images, args.masks)
        print(table(found))
        write_text(args.out, draft(found, args.base))
    print(f'{args.out}: name the classes in it, then see what a step would '
          f'train on: mmseg-spwc browse {args.out}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
