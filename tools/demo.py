"""Try the network of a step on an image.

    python tools/demo.py CONFIG STEP/final.pth IMAGE [--scenario 15-1]
        [--setting disjoint] [-o out.png]

A segmentor's prediction is drawn over the image, a classifier's most
probable classes beside it.
"""
import argparse
import sys

from mmseg_spwc.cli import add_size


def main() -> int:
    from mmseg_spwc.config.load import add_config_options
    parser = argparse.ArgumentParser(description='Try a step')
    add_config_options(parser)
    parser.add_argument('checkpoint', help='final.pth of a step')
    parser.add_argument('image', help='image file')
    parser.add_argument(
        '-o', '--out', default='demo.png', help='the picture to write')
    add_size(parser)
    parser.add_argument(
        '--task', type=int,
        help='task of the image, for classifiers with a head per task')
    args = parser.parse_args()
    from mmseg_spwc.apis import inference
    from mmseg_spwc.apis.step_model import load_step_model
    from mmseg_spwc.config.load import load_config
    from mmseg_spwc.errors import tool_errors
    from mmseg_spwc.utils.files import atomic_path
    with tool_errors():
        cfg = load_config(args)
        loaded = load_step_model(cfg, args.checkpoint)
        image = inference.read_image(args.image)
        drawn, found = inference.predict(loaded, image, args.size, args.task)
        for name, share in found:
            print(f'{100 * share:5.1f} %  {name}')
        with atomic_path(args.out) as path:
            drawn.savefig(path, format='png', dpi=200)
    print(args.out)
    return 0


if __name__ == '__main__':
    sys.exit(main())
