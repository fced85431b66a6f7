"""Transforms of the continual-segmentation literature."""
import math

import cv2
import numpy as np
from mmcv.image import imresize
from mmcv.transforms import BaseTransform

from mmseg_spwc.registry import TRANSFORMS


@TRANSFORMS.register_module()
class MapLabels(BaseTransform):
    """Turn the labels of a data set into the channels of a step.

    One look-up in a 256-entry table for the whole map. The step's data set
    inserts this transform after ``LoadAnnotations``.

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

    def __init__(self,
                 size: int,
                 area: tuple = (0.5, 2.0),
                 ratio: tuple = (3 / 4, 4 / 3),
                 tries: int = 10) -> None:
        self.size = size
        self.area = area
        self.ratio = ratio
        self.tries = tries

    def crop_box(self, height: int, width: int) -> tuple:
        """Draw ``(top, left, height, width)`` of the crop."""
        for _ in range(self.tries):
            target = height * width * np.random.uniform(*self.area)
            aspect = math.exp(np.random.uniform(*np.log(self.ratio)))
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
        results['img'] = imresize(results['img'][box], side)
        for key in results.get('seg_fields', []):
            results[key] = imresize(
                results[key][box], side, interpolation='nearest')
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
        results['img'] = imresize(results['img'], shape)[box]
        for key in results.get('seg_fields', []):
            results[key] = imresize(
                results[key], shape, interpolation='nearest')[box]
        results['img_shape'] = results['ori_shape'] = (self.size, self.size)
        return results
