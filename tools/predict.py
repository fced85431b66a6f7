"""Draw what a step of a run sees in images.

    mmseg-spwc predict work_dirs/RUN IMAGES ... [--step 1] [-o FOLDER]

IMAGES are files or folders. A segmentor's prediction is drawn over the image
with a legend of the classes in it, a classifier's most probable classes beside
it.
"""
import argparse
import sys
from pathlib import Path

from mmseg_spwc.cli import add_size, add_trust


def main() -> int:
    parser = argparse.ArgumentParser(description='Draw predictions')
    parser.add_argument('run', help='folder of a run, or a final.pth')
    parser.add_argument('images', nargs='+', help='image files or folders')
    parser.add_argument(
        '--step', type=int, help='the step of a folder (default: the last)')
    parser.add_argument(
        '-o', '--out', default='predictions', help='folder of the pictures')
    add_size(parser)
    parser.add_argument(
        '--task', type=int,
        help='task of the images, for classifiers with a head per task')
    add_trust(parser)
    args = parser.parse_args()
    from mmseg_spwc.apis import inference
    from mmseg_spwc.apis.step_model import find_step, load_run_step
    from mmseg_spwc.errors import plain, tool_errors
    from mmseg_spwc.utils.files import atomic_path
    with tool_errors():
        files = inference.image_files(args.images, args.out)
        run, checkpoint = find_step(Path(args.run), args.step, args.trust)
        loaded = load_run_step(run, checkpoint)
        for out, file in files.items():
            image = inference.read_image(file)
            drawn, found = inference.predict(loaded, image, args.size,
                                             args.task)
            with atomic_path(out) as path:
                drawn.savefig(path, format='png', dpi=200)
            print(plain(f'{out}: ' + ', '.join(
                f'{name} {100 * share:.0f} %' for name, share in found)))
    return 0


if __name__ == '__main__':
    sys.exit(main())
