"""Any data set of equally sized images, read into memory."""
import torch
from torch import Tensor

from mmseg_spwc.registry import DATASETS

from .source import ImageSource


@DATASETS.register_module()
class InMemoryImages(ImageSource):
    """All images of an mmpretrain data set as its pipeline yields them.

    The pipeline runs once, so it should not be random; batched augmentation
    (:mod:`mmseg_spwc.datasets.batch_augment`) takes its place.

    Args:
        dataset (dict): Config of the data set. Its pipeline ends with
            ``PackInputs`` and makes images of one size.
        data_root (str, optional): Takes the place of the data set's own.
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
                'a Resize (and crop) to one size, or use the data set '
                'without InMemoryImages.')
        super().__init__(
            torch.stack(images), torch.cat(labels).long(),
            built.metainfo['classes'])


def _image(sample: dict, index: int) -> Tensor:
    image = sample.get('inputs')
    if image is None or image.dtype != torch.uint8:
        raise ValueError(
            f'Image {index} is no uint8 tensor under the key inputs: end the '
            'pipeline with PackInputs, and leave normalisation to the data '
            'preprocessor.')
    return image
