"""Write a page that compares runs.

    python tools/report.py work_dirs/a work_dirs/b ... -o report.html

The folder of a sweep stands for the runs of its best settings. Everything is
from the runs' record.json, the test images also from their last weights and
the data. The page is one file and needs no network.
"""
import argparse
import sys

from mmseg_spwc.cli import add_trust


def main() -> int:
    parser = argparse.ArgumentParser(description='Write a report')
    parser.add_argument('runs', nargs='+', help='work_dirs of runs or sweeps')
    parser.add_argument(
        '-o', '--out', default='report.html', help='the page to write')
    parser.add_argument('--images', type=int, default=4, metavar='N',
                        help='number of test images to show, 0 for none')
    add_trust(parser)
    args = parser.parse_args()
    from mmseg_spwc.apis.galleries import make_gallery
    from mmseg_spwc.errors import plain, tool_errors
    from mmseg_spwc.sweep.aggregate import expand_sweeps
    from mmseg_spwc.utils.files import write_text
    from mmseg_spwc.visualization.report import render
    from mmseg_spwc.visualization.runs import compare, load_runs
    from mmseg_spwc.visualization.tables import headlines
    with tool_errors():
        folders, sweeps = expand_sweeps(args.runs, args.trust)
        runs, problems = load_runs(folders, args.trust)
        for problem in problems:
            print(f'left out: {plain(problem)}', file=sys.stderr)
        comparisons = compare(runs)
        galleries = {c.title: make_gallery(c, args.images)
                     for c in comparisons} if args.images > 0 else {}
        write_text(args.out, render(comparisons, galleries, problems, sweeps))
    print(f'report: {args.out}')
    for comparison in comparisons:
        for line in headlines(comparison):
            print(f'  {line.title}: {line.value} ({line.label})')
    return 0


if __name__ == '__main__':
    sys.exit(main())
