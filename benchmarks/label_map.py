"""Label mapping by table against a Python function a pixel.

The rival is how the published code of the lineage maps labels: a function
called for every pixel of the mask.

    python benchmarks/label_map.py
"""
import numpy as np
from _sides import medians

import mmseg_spwc  # noqa: F401
from mmseg_spwc.datasets.transforms import MapLabels
from mmseg_spwc.scenario import get_scenario


def by_pixel(labels: np.ndarray, channels: dict) -> np.ndarray:
    function = np.vectorize(lambda v: channels.get(int(v), 0), [np.uint8])
    return function(labels)


def main() -> None:
    scenario = get_scenario('voc', '15-1')
    table = scenario.train_table(3)
    channels = dict(enumerate(table.tolist()))
    labels = np.random.default_rng(0).integers(0, 21, (512, 512), np.uint8)
    transform = MapLabels(table)
    mapped = transform(dict(gt_seg_map=labels))['gt_seg_map']
    assert (mapped == by_pixel(labels, channels)).all()
    times = medians(
        dict(
            ours=lambda: transform(dict(gt_seg_map=labels)),
            rival=lambda: by_pixel(labels, channels)),
        repeats=5)
    ours, rival = times['ours'], times['rival']
    print(f'512 x 512 labels: table {ours:.3f} ms, '
          f'function a pixel {rival:.1f} ms, '
          f'ratio {rival / ours:.0f} x (target 50 x)')


if __name__ == '__main__':
    main()
