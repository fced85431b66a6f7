"""Images of VOC, read and scored, against plain mmseg on the same files.

Reading: both sides make the same crops in one process, the rival as an
ordinary mmseg dataset with mmseg's own transforms for the rest. Ours also
maps labels, and seeds every sample so that it is the same wherever it is
drawn. With `keep_decoded` decoded images stay in memory, which pays in later
steps: they see few images many times.

Scoring: the same network, for the rival one image at a time and with its
`IoUMetric`, as in mmseg's own configs.

    python benchmarks/voc_pipeline.py [--voc-root VOCdevkit/VOC2012]

VOC-128 is taken from `MMSEG_SPWC_DATA` where it is there, else generated.
Images of VOC's size are generated, with as many bytes per pixel as its files.
"""
import argparse
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import torch
from _sides import Row, medians, report
from mmengine.config import Config
from mmengine.model import revert_sync_batchnorm
from mmengine.registry import init_default_scope

import mmseg_spwc  # noqa: F401
from mmseg_spwc.datasets.continual_seg import ContinualSegDataset
from mmseg_spwc.datasets.shapes import generate_shapes
from mmseg_spwc.registry import DATASETS, METRICS, MODELS

CONFIGS = Path(__file__).resolve().parents[1] / 'configs'
PROTOCOL = CONFIGS / '_base_/datasets/css_protocol.py'
LEAF = CONFIGS / 'finetune/finetune_deeplabv3-mobilenetv2-d16_voc12aug-' \
    '128x128.py'
THEIRS = {
    'mmseg_spwc.RandomMirror': 'RandomFlip',
    'mmseg_spwc.PackSample': 'PackSegInputs',
}
TRAIN = 'ImageSets/Segmentation/train.txt'
VOC = dict(
    type='PascalVOCDataset', ann_file=TRAIN,
    data_prefix=dict(img_path='JPEGImages', seg_map_path='SegmentationClass'))
SHAPES = dict(type='mmseg_spwc.ShapesDataset', ann_file=TRAIN)
NOISE = 22  # gives files of 0.57 bytes per pixel, as VOC's are
BATCH = 8  # of which a loader asks at once


def photos(root: str, count: int, size: int) -> dict:
    """Generate shapes whose files are as hard to decode as photographs."""
    generate_shapes(root, count, 1, size)
    noise = np.random.default_rng(0)
    for path in sorted(Path(root, 'JPEGImages').iterdir()):
        image = cv2.imread(str(path))
        image = image + noise.normal(0, NOISE, image.shape)
        cv2.imwrite(str(path), image.clip(0, 255).astype(np.uint8),
                    [cv2.IMWRITE_JPEG_QUALITY, 90])
    return dict(SHAPES, data_root=root)


def reading(source: dict, scenario: dict, crop: int, folder: str,
            args: argparse.Namespace) -> Iterator[Row]:
    """Milliseconds per training image of step 1."""
    pipeline = [dict(t) for t in Config.fromfile(PROTOCOL).train_pipeline]
    pipeline[2]['size'] = crop
    theirs = [{**t, 'type': THEIRS.get(t['type'], t['type'])}
              for t in pipeline]
    rival = DATASETS.build(dict(source, pipeline=theirs))
    options = dict(dataset=dict(source, pipeline=pipeline), step=1,
                   scenario=scenario, cache_dir=folder)
    ours = ContinualSegDataset(**options)
    kept = ContinualSegDataset(**options, keep_decoded=1)
    count = min(args.images, len(ours))
    batches = [range(count)[i:i + BATCH] for i in range(0, count, BATCH)]

    def read(dataset: ContinualSegDataset) -> None:
        for batch in batches:  # as PyTorch's loaders ask for them
            dataset.__getitems__(batch)

    def read_rival() -> None:
        for batch in batches:
            [rival[ours.positions[i]] for i in batch]

    times = medians(
        dict(rival=read_rival, ours=lambda: read(ours),
             kept=lambda: read(kept)), args.repeats)
    setting = (f'{count} images of {scenario["dataset"]}, crops of {crop}, '
               'per image')
    for what, side, aim in (('training images', 'ours', 1),
                            ('training images, keep_decoded', 'kept', 1 / 3)):
        yield Row(what, times[side] / count, times['rival'] / count, 'mmseg',
                  aim, setting)


def scoring(args: argparse.Namespace) -> Iterator[Row]:
    """Milliseconds per image that is scored."""
    from mmseg_spwc.config.step import scenario_of, step_config
    cfg = Config.fromfile(LEAF)
    cfg.work_dir = 'work_dirs/benchmark'
    cfg = step_config(cfg, scenario_of(cfg), 0)
    batch = cfg.test_dataloader.batch_size
    model = revert_sync_batchnorm(MODELS.build(cfg.model)).eval()
    classes = [str(i) for i in range(sum(model.channels))]
    metrics = [METRICS.build(cfg.test_evaluator[0]),
               METRICS.build(dict(type='IoUMetric', iou_metrics=['mIoU']))]
    pack = dict(inputs=torch.zeros(3, 128, 128, dtype=torch.uint8),
                data_samples=_labelled(128, len(classes)))

    def score(metric, size: int) -> None:
        metric.dataset_meta = dict(classes=classes)
        for _ in range(args.images // size):
            samples = model.test_step(dict(
                inputs=[pack['inputs']] * size,
                data_samples=[pack['data_samples'].clone()
                              for _ in range(size)]))
            metric.process({}, [sample.to_dict() for sample in samples])
        metric.results.clear()

    batch = min(batch, args.images)
    times = medians(dict(rival=lambda: score(metrics[1], 1),
                         ours=lambda: score(metrics[0], batch)),
                    min(args.repeats, 3))
    done = args.images // batch * batch
    yield Row('scored images', times['ours'] / done,
              times['rival'] / args.images, 'mmseg, one by one', 1,
              f'MobileNetV2, batches of {batch} x 128^2, per image')


def _labelled(size: int, classes: int):
    from mmengine.structures import PixelData
    from mmseg.structures import SegDataSample
    labels = torch.randint(
        classes, (1, size, size), generator=torch.Generator().manual_seed(0))
    return SegDataSample(
        gt_sem_seg=PixelData(data=labels),
        metainfo=dict(ori_shape=(size, size), img_shape=(size, size)))


def measure(args: argparse.Namespace) -> Iterator[Row]:
    init_default_scope('mmseg')
    cv2.setNumThreads(0)  # as in a run
    voc, shapes = (dict(dataset='voc', name='15-1'),
                   dict(dataset='shapes', name='6-1'))
    small = Path(os.environ.get('MMSEG_SPWC_DATA', 'data'),
                 'voc128/VOCdevkit/VOC2012')
    with tempfile.TemporaryDirectory() as folder:
        source, scenario = (
            (dict(VOC, data_root=str(small)), voc) if small.exists() else
            (photos(f'{folder}/128', 32 + 4 * args.images, 128), shapes))
        yield from reading(source, scenario, 128, folder, args)
        source, scenario = (
            (dict(VOC, data_root=args.voc_root), voc) if args.voc_root else
            (photos(f'{folder}/432', 32 + 4 * args.images, 432), shapes))
        yield from reading(source, scenario, 512, folder, args)
    yield from scoring(args)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--voc-root', help='folder of VOC 2012')
    parser.add_argument('--images', type=int, default=48)
    parser.add_argument('--repeats', type=int, default=9)
    report(measure, parser)
