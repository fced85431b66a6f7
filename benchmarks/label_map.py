"""Label mapping by table against a Python function a pixel.

The rival is how the published code of the lineage maps labels: a function
called for every pixel of the mask.

    python benchmarks/label_map.py
"""
import statistics
import time

import numpy as np

import mmseg_spwc  # noqa: F401
from mmseg_spwc.datasets.transforms import MapLabels
from mmseg_spwc.scenario import get_scenario


def by_pixel(labels: np.ndarray, channels: dict) -> np.ndarray:
    function = np.vectorize(lambda v: channels.get(int(v), 0), [np.uint8])
    return function(labels)


def median_seconds(function, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main() -> None:
    scenario = get_scenario('voc', '15-1')
    table = scenario.train_table(3)
    channels = dict(enumerate(table.tolist()))
    labels = np.random.default_rng(0).integers(0, 21, (512, 512), np.uint8)
    transform = MapLabels(table)
    mapped = transform(dict(gt_seg_map=labels))['gt_seg_map']
    assert (mapped == by_pixel(labels, channels)).all()
    ours = median_seconds(
        lambda: transform(dict(gt_seg_map=labels)), repeats=50)
    rival = median_seconds(lambda: by_pixel(labels, channels), repeats=5)
    print(f'512 x 512 labels: table {1e3 * ours:.3f} ms, '
          f'function a pixel {1e3 * rival:.1f} ms, '
          f'ratio {rival / ours:.0f} x (target 50 x)')


if __name__ == '__main__':
    main()
