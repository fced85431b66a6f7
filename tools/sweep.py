"""Run methods x scenarios x seeds x grids on Ray, and compare them.

    python tools/sweep.py SWEEP [--scale S] [--work-dir D] [--dry-run]
        [--address auto|HOST:PORT] [--cpus N] [--gpus N]

A sweep file is a Python config, see docs/sweeps.md. The same command goes on
with a sweep that was interrupted; finished trials are not repeated.
"""
import argparse
import dataclasses
import subprocess
import sys


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Run a sweep')
    parser.add_argument('sweep', help='sweep file')
    parser.add_argument(
        '--scale', help="one of the file's scales (default: as it stands)")
    parser.add_argument('--work-dir', help='folder for all trials')
    parser.add_argument(
        '--dry-run', action='store_true',
        help='check everything, list the trials and estimate the time')
    parser.add_argument(
        '--address', help='Ray cluster: auto or HOST:PORT (default: start '
        'Ray on this machine)')
    parser.add_argument(
        '--cpus', type=int, help='CPUs to use on this machine (default: all)')
    parser.add_argument(
        '--gpus', type=int, help='GPUs to use on this machine (default: all)')
    return parser.parse_args()


def main() -> int:
    args = parse_args()
    from mmseg_spwc.errors import user_errors
    from mmseg_spwc.sweep.sweep_file import read_sweep
    with user_errors():
        sweep = read_sweep(args.sweep, args.scale)
        if args.work_dir:
            sweep = dataclasses.replace(sweep, work_dir=args.work_dir)
        return show(sweep, args) if args.dry_run else run(sweep, args)


def show(sweep, args: argparse.Namespace) -> int:
    from mmseg_spwc.sweep.estimate import describe, memory_of_gpus
    from mmseg_spwc.sweep.plan import prepare
    plan = prepare(sweep)
    print(describe(plan, args.cpus, args.gpus))
    if sweep.gpus:
        print(memory_of_gpus(plan))
    return 0


def run(sweep, args: argparse.Namespace) -> int:
    from rich.console import Console

    from mmseg_spwc.runtime.lock import run_lock
    from mmseg_spwc.sweep.aggregate import best_lines, read_aggregate
    from mmseg_spwc.sweep.driver import connected, require_ray, run_sweep
    from mmseg_spwc.sweep.plan import prepare
    require_ray()
    console = Console(file=sys.stdout)
    with run_lock(sweep.work_dir):
        plan = prepare(sweep)
        with connected(args.address, args.cpus, args.gpus):
            rows = run_sweep(plan, console)
    failed = [row for row in rows if row.state == 'failed']
    for row in failed:
        print(f'failed: {row.name}: {row.reason} '
              f'({plan.folder_of(row.name) / "train.log"})',
              file=sys.stderr)
    if len(failed) < len(rows):
        for line in best_lines(read_aggregate(plan.folder, True)):
            print(line)
        report(plan.folder)
        draw(plan.folder, sweep.paper.get('figures') or ())
    return 1 if failed else 0


def report(folder) -> None:
    """Write the page that compares the best settings."""
    from mmseg_spwc.cli import MIM
    subprocess.run([sys.executable, MIM / 'tools' / 'report.py', folder,
                    '-o', folder / 'report.html', '--trust'], check=False)


def draw(folder, figures) -> None:
    """Draw the figures that the sweep file names, one for each scenario."""
    if not figures:
        return
    from mmseg_spwc.errors import RecordError
    from mmseg_spwc.sweep.aggregate import expand_sweeps
    from mmseg_spwc.visualization.figures import FIGURES, save
    from mmseg_spwc.visualization.runs import compare, load_runs
    comparisons = compare(load_runs(expand_sweeps([folder])[0])[0])
    for name in figures:
        for i, comparison in enumerate(comparisons):
            place = f'{name}_{i}' if len(comparisons) > 1 else name
            try:
                paths = save(FIGURES[name](comparison),
                             folder / 'figures' / place)
            except RecordError as error:
                print(f'{name} was not drawn: {error}', file=sys.stderr)
                continue
            print('figure:', *paths)


if __name__ == '__main__':
    sys.exit(main())
