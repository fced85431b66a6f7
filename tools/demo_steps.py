"""Watch classes appear and fade on an image, step by step.

    python tools/demo_steps.py work_dirs/RUN IMAGE [-o steps.html]

The page is one file with a slider over the steps; it needs no network.
"""
import argparse
import sys

from mmseg_spwc.cli import add_size, add_trust


def main() -> int:
    parser = argparse.ArgumentParser(description='Try all steps of a run')
    parser.add_argument('run', help='work_dir or record.json')
    parser.add_argument('image', help='image file')
    parser.add_argument(
        '-o', '--out', default='steps.html', help='the page to write')
    add_size(parser)
    add_trust(parser)
    args = parser.parse_args()
    from mmseg_spwc.apis import inference
    from mmseg_spwc.errors import tool_errors
    from mmseg_spwc.utils.files import write_text
    from mmseg_spwc.visualization.report import render_steps
    from mmseg_spwc.visualization.runs import load_runs
    with tool_errors():
        (run, ), _ = load_runs([args.run], args.trust)
        image = inference.read_image(args.image)
        views = inference.segment_by_step(run, image, args.size)
        title = f'{run.record.content["method"]}, step by step'
        write_text(args.out, render_steps(title, image[..., ::-1], views))
    print(args.out)
    return 0


if __name__ == '__main__':
    sys.exit(main())
