"""Run every benchmark and write docs/benchmarks.md.

    python benchmarks [--only penalty.py ...] [--data-root MNIST] [--dry-run]

Each script runs in a process of its own. What it cannot run on this machine
is left out of the table and said below it.
"""
import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
import torch
from _sides import ROWS, Row, table

matplotlib.use('Agg')
from matplotlib import pyplot as plt  # noqa: E402

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / 'docs'
PAGE, CHART = DOCS / 'benchmarks.md', DOCS / 'images/benchmarks.png'
TASKS = DOCS / 'images/many_tasks.png'
BEGIN, END = '<!-- table: make bench -->', '<!-- end of the table -->'


def run(script: Path, options: list[str] = ()) -> tuple[list[Row], list[str]]:
    """Return the rows of a script, and what it left out."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, 'rows.jsonl')
        path.touch()
        done = subprocess.run(
            [sys.executable, str(script), *options],
            cwd=HERE.parent, env={**os.environ, ROWS: str(path)})
        lines = [json.loads(line) for line in path.read_text().splitlines()]
    notes = [line['note'] for line in lines if 'note' in line]
    if done.returncode:
        notes.append(f'Failed: it ended with code {done.returncode}.')
    return ([Row(**line['row']) for line in lines if 'row' in line],
            [f'`{script.name}`: {text}' for text in notes])


def write_page(rows: list[Row], notes: list[str], page: Path = PAGE) -> None:
    """Put the table between its markers; the rest is written by hand."""
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    where = f'torch {torch.__version__.split("+")[0]}, Python ' \
        f'{platform.python_version()}, one thread of a CPU.'
    body = [table(rows), f'Measured with {where}',
            *(f'- {text}' for text in notes)]
    page.write_text(
        before + BEGIN + '\n' + '\n\n'.join(body) + '\n' + END + after)


def draw(rows: list[Row], path: Path = CHART) -> None:
    """One bar per row: how much cheaper or dearer than the rival."""
    rows = [row for row in rows if not row.more_is_better][::-1]
    figure, axes = plt.subplots(figsize=(9, 0.8 + 0.27 * len(rows)))
    met = [row.aim is None or row.ratio <= row.aim for row in rows]
    axes.barh(range(len(rows)), [row.ratio - 1 for row in rows], left=1,
              color=['#2a78b5' if ok else '#c4622d' for ok in met])
    for place, row in enumerate(rows):
        if row.aim is not None:
            axes.plot([row.aim] * 2, [place - .45, place + .45], color='k')
    axes.axvline(1, color='0.4', linewidth=0.8)
    axes.set_xscale('log')
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_yticks(range(len(rows)), [
        f'{row.what} ({row.name})' for row in rows], fontsize=8)
    axes.set_xlabel('our cost / rival\'s cost (left of 1: cheaper); '
                    'black: aim, at most')
    axes.spines[['top', 'right']].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def options_of(script: str, args: argparse.Namespace) -> list[str]:
    """What a script is called with, beside its defaults."""
    if script == 'permuted_mnist.py' and args.data_root:
        return [args.data_root]
    if script == 'voc_pipeline.py' and args.voc_root:
        return ['--voc-root', args.voc_root]
    if script == 'many_tasks.py' and not (args.dry_run or args.only):
        return ['--chart', str(TASKS)]
    return []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--only', nargs='+', help='names of scripts')
    parser.add_argument('--data-root', help='folder with MNIST\'s IDX files; '
                        'generated digits are used without it')
    parser.add_argument('--voc-root', help='folder of VOC 2012; generated '
                        'images are used without it')
    parser.add_argument('--dry-run', action='store_true',
                        help='print the table, write nothing')
    args = parser.parse_args()
    rows, notes = [], []
    for script in sorted(HERE.glob('[!_]*.py')):
        if args.only and script.name not in args.only:
            continue
        print(f'== {script.name}', flush=True)
        found, missing = run(script, options_of(script.name, args))
        rows += found
        notes += missing
    print('\n' + table(rows), *notes, sep='\n')
    if rows and not args.dry_run and not args.only:
        write_page(rows, notes)
        draw(rows)
    if any('Failed' in text for text in notes):
        sys.exit(1)


if __name__ == '__main__':
    main()
