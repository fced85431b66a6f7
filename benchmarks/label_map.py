"""Label mapping by table against a Python function per pixel.

The rival is how the published code of the lineage maps labels: a function
called for every pixel of the mask.

    python benchmarks/label_map.py
"""
from collections.abc import Iterator

import numpy as np
from _sides import Row, medians, report

import mmseg_spwc  # noqa: F401
from mmseg_spwc.datasets.transforms import MapLabels
from mmseg_spwc.scenario import get_scenario


def by_pixel(labels: np.ndarray, channels: dict) -> np.ndarray:
    function = np.vectorize(lambda v: channels.get(int(v), 0), [np.uint8])
    return function(labels)


def measure(args) -> Iterator[Row]:
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
    yield Row('label mapping', **times, name='function per pixel', aim=1 / 50,
              setting='512 x 512 labels, VOC 15-1')


if __name__ == '__main__':
    report(measure)
