"""MMPretrain data sets that are read one image at a time."""
from collections.abc import Mapping

import numpy as np

from mmseg_spwc.registry import DATASETS

from .sample_error import naming_files


class SampleSource:
    """One data set, or several behind each other.

    Args:
        config (Mapping): Config of an mmpretrain data set, or a
            ``ConcatDataset`` of them in ``datasets``.
    """

    def __init__(self, config: Mapping) -> None:
        configs = config.get('datasets') or [config]
        self.datasets = [DATASETS.build(c) for c in configs]
        labels = [_labels(d) for d in self.datasets]
        sizes = [len(part) for part in labels]
        self.labels = np.concatenate(labels)
        self.parts = np.repeat(np.arange(len(sizes)), sizes)
        self.starts = np.cumsum([0, *sizes[:-1]])

    @property
    def metainfo(self) -> dict:
        return self.datasets[0].metainfo

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> dict:
        part = self.parts[index]
        dataset, place = self.datasets[part], int(index - self.starts[part])
        with naming_files(dataset.get_data_info(place)):
            return dataset[place]


def _labels(dataset) -> np.ndarray:
    if not hasattr(dataset, 'get_gt_labels'):
        raise TypeError(
            f'{type(dataset).__name__} is no mmpretrain data set: it has no '
            'get_gt_labels().')
    labels = np.asarray(dataset.get_gt_labels())
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f'{type(dataset).__name__} has labels of shape {labels.shape} '
            f'and type {labels.dtype}: one class id an image is needed.')
    return labels.astype(np.int64)
