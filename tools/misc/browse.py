"""Show what every step of a config would train on, on a page.

    mmseg-spwc browse CONFIG [-o browse.html] [--images 6]

Some images of each step with the masks as that step sees them, the label
values in the files and what each becomes, values that no class names, and
classes that no image shows. The page is one file and needs no network.
"""
import argparse
import sys


def parse_args() -> argparse.Namespace:
    from mmseg_spwc.config.load import add_config_options
    parser = argparse.ArgumentParser(description='Browse the data')
    add_config_options(parser)
    parser.add_argument(
        '-o', '--out', default='browse.html', help='the page to write')
    parser.add_argument(
        '--images', type=int, default=6, metavar='N',
        help='number of images of each step')
    return parser.parse_args()


def main() -> int:
    args = parse_args()
    from mmseg_spwc.apis.browse import browse
    from mmseg_spwc.config.load import load_config
    from mmseg_spwc.errors import tool_errors
    from mmseg_spwc.utils.files import write_text
    with tool_errors():
        write_text(args.out, browse(load_config(args), args.images))
    print(args.out)
    return 0


if __name__ == '__main__':
    sys.exit(main())
