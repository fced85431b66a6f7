"""Transforms of the continual-segmentation literature."""
import math

import cv2
import numpy as np
import torch
from mmcv.image import imresize
from mmcv.transforms import BaseTransform
from mmengine.structures import PixelData
from mmseg.datasets.transforms import PackSegInputs
from mmseg.structures import SegDataSample

from mmseg_spwc.registry import TRANSFORMS

OTHER_MAPS = {'gt_edge_map', 'gt_depth_map'}


@TRANSFORMS.register_module()
class MapLabels(BaseTransform):
    """Turn the labels of a dataset into the channels of a step.

    The step's dataset inserts this transform after ``LoadAnnotations``.

    Args:
        table (Sequence[int]): The channel of every raw label value, see
            :meth:`mmseg_spwc.scenario.SegmentationScenario.train_table`.
    """

    def __init__(self, table) -> None:
        self.table = np.asarray(table, dtype=np.uint8)
        if self.table.shape != (256, ):
            raise ValueError('A label table has 256 entries, this one has '
                             f'shape {self.table.shape}.')

    def transform(self, results: dict) -> dict:
        results['gt_seg_map'] = cv2.LUT(results['gt_seg_map'], self.table)
        return results


@TRANSFORMS.register_module()
class AreaRandomResizedCrop(BaseTransform):
    """Crop a random share of the image's area and resize it to a square.

    The augmentation of the MiB - PLOP - RCIL lineage: area factor uniform in
    ``area``, aspect ratio log-uniform in ``ratio``, ten tries, then a centred
    crop of the largest allowed aspect. Area factors above 1 never fit, so
    the crop covers half to all of the image. mmseg's ``RandomResize`` with
    ``RandomCrop`` is another distribution.

    Args:
        size (int): Side of the square output.
        area (tuple[float, float]): Range of the area factor.
        ratio (tuple[float, float]): Range of the aspect ratio (w / h).
        tries (int): Draws before the centred fallback.
    """

    def __init__(self, size: int, area: tuple = (0.5, 2.0),
                 ratio: tuple = (3 / 4, 4 / 3), tries: int = 10) -> None:
        self.size = size
        self.area = area
        self.ratio = ratio
        self.log_ratio = np.log(ratio).tolist()
        self.tries = tries

    def crop_box(self, height: int, width: int) -> tuple:
        """Draw ``(top, left, height, width)`` of the crop."""
        # what np.random.uniform does, without its checks at every try
        (area, widest), (low, high) = self.area, self.log_ratio
        draw = np.random.random_sample
        for _ in range(self.tries):
            target = height * width * (area + (widest - area) * draw())
            aspect = math.exp(low + (high - low) * draw())
            w = round(math.sqrt(target * aspect))
            h = round(math.sqrt(target / aspect))
            if 0 < w <= width and 0 < h <= height:
                top = np.random.randint(0, height - h + 1)
                left = np.random.randint(0, width - w + 1)
                return top, left, h, w
        low, high = self.ratio
        w = min(width, round(height * high))
        h = min(height, round(width / low))
        return (height - h) // 2, (width - w) // 2, h, w

    def transform(self, results: dict) -> dict:
        top, left, h, w = self.crop_box(*results['img'].shape[:2])
        box = np.s_[top:top + h, left:left + w]
        side = (self.size, self.size)
        for key, way in _maps(results):
            results[key] = imresize(results[key][box], side,
                                    interpolation=way)
        results['img_shape'] = side
        return results


@TRANSFORMS.register_module()
class ShortSideCentreCrop(BaseTransform):
    """Resize the shorter side to ``size``, cut the centre, score there.

    The test protocol of the lineage. mmseg resizes a prediction to
    ``ori_shape`` before it is scored, so the crop is declared the original.

    Args:
        size (int): Side of the square output.
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def transform(self, results: dict) -> dict:
        height, width = results['img'].shape[:2]
        scale = self.size / min(height, width)
        shape = (max(self.size, round(width * scale)),
                 max(self.size, round(height * scale)))
        top, left = (shape[1] - self.size) // 2, (shape[0] - self.size) // 2
        box = np.s_[top:top + self.size, left:left + self.size]
        for key, way in _maps(results):
            results[key] = imresize(results[key], shape,
                                    interpolation=way)[box]
        results['img_shape'] = results['ori_shape'] = (self.size, self.size)
        return results


@TRANSFORMS.register_module()
class RandomMirror(BaseTransform):
    """mmseg's ``RandomFlip``, draw for draw, but several times faster.

    Args:
        prob (float): How likely. Defaults to 0.5.
    """

    def __init__(self, prob: float = 0.5) -> None:
        if not 0 <= prob <= 1:
            raise ValueError(f'prob is {prob}: give a number from 0 to 1.')
        self.prob = prob

    def transform(self, results: dict) -> dict:
        results['flip'] = bool(np.random.random_sample() < self.prob)
        results['flip_direction'] = None
        if results['flip']:
            results['flip_direction'] = 'horizontal'
            for key, _ in _maps(results):
                results[key] = cv2.flip(results[key], 1)
        return results


@TRANSFORMS.register_module()
class PackSample(PackSegInputs):
    """mmseg's ``PackSegInputs``, but several times faster.

    OpenCV takes the channels apart, and meta information is not copied
    deeply. Samples with other maps are left to mmseg.

    Args:
        meta_keys (Sequence[str]): As of ``PackSegInputs``.
    """

    def transform(self, results: dict) -> dict:
        image, labels = results.get('img'), results.get('gt_seg_map')
        if image is None or image.ndim != 3 or labels is None or \
                labels.ndim != 2 or OTHER_MAPS & results.keys():
            return super().transform(results)
        planes = np.empty((image.shape[2], *image.shape[:2]), image.dtype)
        cv2.split(image, list(planes))
        sample = SegDataSample()
        sample.gt_sem_seg = PixelData(
            data=torch.from_numpy(labels.astype(np.int64)[None]))
        for key in self.meta_keys:
            if key in results:
                sample.set_field(results[key], key, field_type='metainfo')
        return dict(inputs=torch.from_numpy(planes), data_samples=sample)


def _maps(results: dict) -> list[tuple[str, str]]:
    """The image and its label maps, and how each is interpolated."""
    return [('img', 'bilinear'),
            *((key, 'nearest') for key in results.get('seg_fields', []))]
