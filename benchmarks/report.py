"""A report of many runs against reports of one run each.

    python benchmarks/report.py

20 runs of 11 steps and 21 classes. Fails above 10 seconds or 15 MB.
"""
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from _sides import Row, clock, report

sys.path.insert(
    0, str(Path(__file__).resolve().parents[1] / 'tests/test_visualization'))
from made_records import segmentation, write  # noqa: E402

from mmseg_spwc.visualization.report import render  # noqa: E402
from mmseg_spwc.visualization.runs import compare, load_runs  # noqa: E402


def page(folders: list[Path]) -> tuple[float, int]:
    """Return CPU seconds and bytes of a report."""
    begin = clock()
    runs, problems = load_runs(folders, trust=True)
    size = len(render(compare(runs), None, problems).encode())
    return clock() - begin, size


def measure(args) -> Iterator[Row]:
    names = ['background', *(f'class {i}' for i in range(1, 21))]
    with tempfile.TemporaryDirectory() as root:
        folders = [
            write(segmentation(f'Method {i}+spWC', steps=11, base=11,
                               names=names), Path(root, str(i)))
            for i in range(20)
        ]
        page(folders[:1])  # warms up
        alone = [page([folder]) for folder in folders]
        seconds, size = page(folders)
    assert seconds < 10 and size < 15e6, f'{seconds} s, {size} bytes'
    setting = '20 runs, 11 steps, 21 classes'
    yield Row('one report, time', seconds, sum(s for s, _ in alone),
              '20 reports of one run', setting=setting, unit='s')
    yield Row('one report, size', size / 1e6, sum(b for _, b in alone) / 1e6,
              '20 reports of one run', setting=setting, unit='MB')


if __name__ == '__main__':
    report(measure)
