"""Time and size of a large report: 20 runs, 11 steps, 21 classes.

    python benchmarks/report.py

Fails above 10 seconds or 15 MB.
"""
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(
    0, str(Path(__file__).resolve().parents[1] / 'tests/test_visualization'))
from made_records import segmentation, write  # noqa: E402

from mmseg_spwc.visualization.report import render  # noqa: E402
from mmseg_spwc.visualization.runs import compare, load_runs  # noqa: E402


def main() -> None:
    names = ['background', *(f'class {i}' for i in range(1, 21))]
    with tempfile.TemporaryDirectory() as root:
        folders = [
            write(segmentation(f'Method {i}+spWC', steps=11, base=11,
                               names=names), Path(root, str(i)))
            for i in range(20)
        ]
        begin = time.perf_counter()
        runs, problems = load_runs(folders)
        size = len(render(compare(runs), None, problems).encode())
        seconds = time.perf_counter() - begin
    print(f'20 runs: {seconds:.1f} s, {size / 1e6:.1f} MB')
    assert seconds < 10 and size < 15e6


if __name__ == '__main__':
    main()
