"""Draw a figure, or write a table, for a paper.

    python tools/analysis_tools/plot.py apa_acf work_dirs/a ... -o apa_acf

writes apa_acf.png and apa_acf.pdf; a table becomes .md and .tex.
"""
import argparse
import sys

from mmseg_spwc.cli import add_trust
from mmseg_spwc.visualization.figures import FIGURES, save


def main() -> int:
    parser = argparse.ArgumentParser(description='Draw a figure')
    parser.add_argument('figure', choices=FIGURES, help='what to draw')
    parser.add_argument('runs', nargs='+', help='work_dirs or record.json')
    parser.add_argument('-o', '--out', help='files to write, without suffix')
    parser.add_argument('--images', type=int, default=4, metavar='N',
                        help='number of test images of `qualitative`')
    add_trust(parser)
    args = parser.parse_args()
    from mmseg_spwc.apis.galleries import make_gallery
    from mmseg_spwc.errors import RecordError, tool_errors
    from mmseg_spwc.visualization.runs import compare, load_runs
    with tool_errors():
        runs, problems = load_runs(args.runs, args.trust)
        if problems:
            raise RecordError(' '.join(problems))
        comparison, *others = compare(runs)
        if others:
            raise RecordError('These runs are of several scenarios: draw '
                              'each with its own command.')
        needed = {}
        if args.figure == 'qualitative':
            needed['gallery'] = make_gallery(comparison, args.images)
        result = FIGURES[args.figure](comparison, **needed)
        for path in save(result, args.out or args.figure):
            print(path)
    return 0


if __name__ == '__main__':
    sys.exit(main())
