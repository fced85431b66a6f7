"""Images are brought to the size that a network wants."""
import numpy as np
import pytest
from mmengine.config import Config

from mmseg_spwc.apis.inference import _fitted, default_size


@pytest.mark.parametrize('cfg, side', [
    (dict(crop_size=96, model=dict(backbone=dict(image_size=64))), 96),
    (dict(crop_size=(512, 1024), model=dict()), None),
    (dict(model=dict(backbone=dict(image_size=64))), 64),
    (dict(model=dict(backbone=dict(in_features=1024))), 32),
    (dict(model=dict(backbone=dict(in_features=3072),
                     data_preprocessor=dict(mean=[1, 2, 3]))), 32),
    (dict(model=dict(backbone=dict(depth=18))), None),
])
def test_the_side_comes_from_the_config(cfg, side):
    assert default_size(Config(cfg)) == side


def test_the_frame_of_a_dataset_is_kept():
    """A digit of 28 px with two black pixels around, as in training."""
    image = np.full((28, 28, 3), 9, np.uint8)
    found = _fitted(image, 32, 2)
    assert found.shape == (32, 32, 3)
    assert (found[2:30, 2:30] == image).all()
    assert found.sum() == image.sum()
