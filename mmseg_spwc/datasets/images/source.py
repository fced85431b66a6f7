"""Where images come from: one tensor in memory, or file by file."""
import json
import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from mmseg_spwc.errors import WHERE, naming_files
from mmseg_spwc.registry import DATASETS
from mmseg_spwc.utils.options import is_positive

SPLITS = ('train', 'test')
MAX_LOADED = 4

_loaded: OrderedDict = OrderedDict()


class ImageSource:
    """Images (N, C, H, W) of one size, uint8, all in memory.

    ``labels`` (N,) are class ids. ``parts`` (N,) say which of several
    datasets every image comes from.
    """

    def __init__(self, images: Tensor, labels: Tensor, classes: Sequence[str],
                 parts: Tensor | None = None,
                 per_class: int | None = None) -> None:
        if len(images) != len(labels):
            raise ValueError(f'{len(images)} images have {len(labels)} '
                             'labels: get the files anew.')
        parts = torch.zeros_like(labels) if parts is None else parts
        if per_class is not None:
            kept = _first_of_class(labels, per_class)
            images, labels, parts = images[kept], labels[kept], parts[kept]
        self.images, self.labels, self.parts = images, labels, parts
        self.metainfo = dict(classes=tuple(classes))
        self.names = [tuple(classes)]  # of the classes of every part

    def __len__(self) -> int:
        return len(self.images)


@DATASETS.register_module()
class InMemoryImages(ImageSource):
    """All images of an mmpretrain dataset as its pipeline yields them.

    The pipeline runs once, so it should not be random; batched augmentation
    (:mod:`mmseg_spwc.datasets.batches`) takes its place.

    Args:
        dataset (dict): Config of the dataset. Its pipeline ends with
            ``PackInputs`` and makes images of one size.
        data_root (str, optional): Takes the place of the dataset's own.
    """

    def __init__(self, dataset: dict, data_root: str | None = None) -> None:
        if data_root is not None:
            dataset = dict(dataset, data_root=data_root)
        built = DATASETS.build(dict(dataset))
        images, labels = [], []
        for index in range(len(built)):
            sample = built[index]
            images.append(_image(sample, index))
            labels.append(sample['data_samples'].gt_label.reshape(-1))
        sizes = sorted({tuple(image.shape) for image in images})
        if len(sizes) != 1:
            raise ValueError(
                f'The images have the shapes {sizes[:4]}: give the pipeline '
                'a Resize (and crop) to one size, or use the dataset '
                'without InMemoryImages.')
        super().__init__(
            torch.stack(images), torch.cat(labels).long(),
            built.metainfo['classes'])


class SampleSource:
    """One dataset of MMPretrain, or several, read one image at a time."""

    def __init__(self, config: Mapping) -> None:
        configs = config.get('datasets', [config])
        self.datasets = [DATASETS.build(c) for c in configs]
        labels = [_labels(d) for d in self.datasets]
        sizes = [len(part) for part in labels]
        self.labels = np.concatenate([np.zeros(0, np.int64), *labels])
        self.parts = np.repeat(np.arange(len(sizes)), sizes)
        self.starts = np.cumsum([0, *sizes[:-1]])

    @property
    def metainfo(self) -> dict:
        return self.datasets[0].metainfo if self.datasets else {}

    @property
    def names(self) -> list:
        """Names of the classes of every part, where they are known."""
        return [d.metainfo.get('classes') for d in self.datasets]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> dict:
        dataset, place = self._place(index)
        with naming_files(dataset.get_data_info(place)):
            return dataset[place]

    def _place(self, index: int) -> tuple:
        part = self.parts[index]
        return self.datasets[part], int(index - self.starts[part])

    def bytes_of(self, indices: Sequence[int]) -> int | None:
        """Size of the images' files, None where they have none."""
        infos = [dataset.get_data_info(place)
                 for dataset, place in map(self._place, indices)]
        if any(not os.path.isfile(i.get('img_path', '')) for i in infos):
            return None
        return sum(os.path.getsize(info['img_path']) for info in infos)


def is_source(config: Mapping) -> bool:
    """Whether a config describes an :class:`ImageSource` or several."""
    kind = config['type']
    if 'datasets' in config:
        return all(is_source(part) for part in config['datasets'])
    if isinstance(kind, str):
        kind = DATASETS.get(kind)
    return isinstance(kind, type) and issubclass(kind, ImageSource)


def load_source(config: Mapping) -> ImageSource:
    """Build a source, or several in a row, once per process.

    The last few are kept, so that the steps of a sequence share the images:
    do not change them.
    """
    key = json.dumps(config, sort_keys=True, default=str)
    if key not in _loaded:
        parts = config.get('datasets')
        _loaded[key] = (DATASETS.build(dict(config)) if parts is None else
                        concatenate([DATASETS.build(dict(p)) for p in parts]))
    _loaded.move_to_end(key)
    while len(_loaded) > MAX_LOADED:
        _loaded.popitem(last=False)
    return _loaded[key]


def concatenate(sources: Sequence[ImageSource]) -> ImageSource:
    shapes = {tuple(s.images.shape[1:]) for s in sources}
    if len(shapes) != 1:
        raise ValueError(f'The images of the sources have the shapes '
                         f'{sorted(shapes)}: give sources of one shape.')
    parts = [torch.full_like(s.labels, i) for i, s in enumerate(sources)]
    whole = ImageSource(
        torch.cat([s.images for s in sources]),
        torch.cat([s.labels for s in sources]),
        sources[0].metainfo['classes'], torch.cat(parts))
    whole.names = [name for s in sources for name in s.names]
    return whole


def check_split(split: str) -> None:
    """Refuse a split that no source has."""
    if split not in SPLITS:
        raise ValueError(f"A split is 'train' or 'test', not {split!r}.")


def find_file(root: str | Path, names: Sequence[str], what: str) -> Path:
    """The first file there is; an error says which files go where."""
    for name in names:
        if (Path(root) / name).is_file():
            return Path(root) / name
    raise FileNotFoundError(
        f'{what} is not complete: put {" or ".join(names)} into {root}, '
        + WHERE)


def _first_of_class(labels: Tensor, count: int) -> Tensor:
    if not is_positive(count):
        raise ValueError(f'per_class is {count!r}: give a whole number above '
                         '0, or None for all images.')
    found = [torch.nonzero(labels == c)[:count, 0] for c in labels.unique()]
    return torch.cat(found).sort().values


def _image(sample: dict, index: int) -> Tensor:
    image = sample.get('inputs')
    if image is None or image.dtype != torch.uint8:
        raise ValueError(
            f'Image {index} is not a uint8 tensor under the key inputs: end '
            'the pipeline with PackInputs, and leave normalisation to the '
            'data preprocessor.')
    return image


def _labels(dataset) -> np.ndarray:
    if not hasattr(dataset, 'get_gt_labels'):
        raise TypeError(
            f'{type(dataset).__name__} is not an mmpretrain dataset: it has '
            'no get_gt_labels().')
    labels = np.asarray(dataset.get_gt_labels())
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f'{type(dataset).__name__} has labels of shape {labels.shape} '
            f'and type {labels.dtype}: one class id per image is needed.')
    return labels.astype(np.int64)
