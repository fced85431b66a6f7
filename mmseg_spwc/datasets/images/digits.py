"""The small digits that come with scikit-learn."""
import numpy as np
import torch

from mmseg_spwc.registry import DATASETS
from mmseg_spwc.scenario import stratified_split

from .source import ImageSource, check_split

SCALE = 4  # 8x8 becomes 32x32
TEST_RATIO = 0.2


@DATASETS.register_module()
class DigitImages(ImageSource):
    """1,797 digits of 8x8 pixels, each made 4x4 of its kind: 32x32.

    They need no download. A fifth of every class is the test set, always the
    same one.

    Args:
        split (str): ``'train'`` or ``'test'``. Defaults to ``'train'``.
    """

    def __init__(self, split: str = 'train') -> None:
        check_split(split)
        try:
            from sklearn.datasets import load_digits
        except ImportError as error:
            raise ImportError('The digits come with scikit-learn: run `pip '
                              'install scikit-learn`.') from error
        digits = load_digits()
        train, test = stratified_split(digits.target, TEST_RATIO, seed=0)
        chosen = train if split == 'train' else test
        images = np.rint(digits.images[chosen] * (255 / 16)).astype(np.uint8)
        images = images.repeat(SCALE, axis=1).repeat(SCALE, axis=2)
        super().__init__(
            torch.from_numpy(images)[:, None],
            torch.from_numpy(digits.target[chosen]).long(),
            [str(i) for i in range(10)])
