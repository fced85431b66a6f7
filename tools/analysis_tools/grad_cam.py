"""Draw where a run's network looks, for its easiest and hardest unit.

    python tools/analysis_tools/grad_cam.py work_dirs/RUN -o grad_cam

The unit, a class of a segmentation or a task of a classification, is chosen
by the held-out score after the last step. Needs `pip install grad-cam`.
"""
import argparse
import sys


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Draw Grad-CAM')
    parser.add_argument('run', help='work_dir or record.json')
    parser.add_argument(
        '-o', '--out', default='grad_cam', help='files, without suffix')
    parser.add_argument(
        '--images', type=int, default=3, metavar='N', help='images a unit')
    parser.add_argument(
        '--layer', help='module to look at (default: the last stage)')
    parser.add_argument(
        '--trust',
        action='store_true',
        help='let records do what configs may: run code, read any file')
    return parser.parse_args()


def main() -> int:
    args = parse_args()
    from mmseg_spwc.apis.grad_cam import cam_rows
    from mmseg_spwc.errors import tool_errors
    from mmseg_spwc.visualization.figures import save
    from mmseg_spwc.visualization.figures.images import draw_cams
    from mmseg_spwc.visualization.runs import load_runs
    with tool_errors():
        (run, ), _ = load_runs([args.run], args.trust)
        rows = cam_rows(run, args.images, args.layer)
        for path in save(draw_cams(rows), args.out):
            print(path)
    return 0


if __name__ == '__main__':
    sys.exit(main())
