"""Try all steps of a run on a page in the browser.

    python tools/webdemo.py work_dirs/RUN [--host 127.0.0.1] [--port 7860]

Drop an image and slide through the steps to watch classes appear and fade.
Needs `pip install gradio`.
"""
import argparse
import sys


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Try a run in the browser')
    parser.add_argument('run', help='work_dir or record.json')
    parser.add_argument(
        '--host',
        default='127.0.0.1',
        help='address to listen at; 0.0.0.0 lets other machines in')
    parser.add_argument('--port', type=int, default=7860)
    parser.add_argument(
        '--size',
        type=int,
        help="side the image is resized to (default: the config's own)")
    parser.add_argument(
        '--trust',
        action='store_true',
        help='let records do what configs may: run code, read any file')
    return parser.parse_args()


def main() -> int:
    args = parse_args()
    from mmseg_spwc.apis.web_demo import StepTrials, build_page, serve
    from mmseg_spwc.errors import user_errors
    from mmseg_spwc.visualization.runs import load_runs
    with user_errors():
        (run, ), _ = load_runs([args.run], args.trust)
        serve(build_page(StepTrials(run, args.size)), args.host, args.port)
    return 0


if __name__ == '__main__':
    sys.exit(main())
