"""Print the final table of several runs side by side.

    python tools/analysis_tools/compare.py work_dirs/a work_dirs/b ...

Runs of one method that differ in their seed make one row, mean and standard
deviation.
"""
import argparse
import sys


def main() -> int:
    parser = argparse.ArgumentParser(description='Compare runs')
    parser.add_argument('runs', nargs='+', help='work_dirs or record.json')
    parser.add_argument('--format', choices=['text', 'markdown', 'latex'],
                        default='text', help='how to print the table')
    args = parser.parse_args()
    from mmseg_spwc.errors import user_errors
    from mmseg_spwc.record import Record
    from mmseg_spwc.visualization.tables import final_table
    with user_errors():
        records = [Record.read(run) for run in args.runs]
        print(final_table(records, args.format))
    return 0


if __name__ == '__main__':
    sys.exit(main())
