"""Wrong data is found before training, and said clearly."""
import shutil

import numpy as np
import pytest
from PIL import Image

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.errors import ConfigError


@pytest.fixture
def copy_of_data(shapes_root, tmp_path):
    root = tmp_path / 'data'
    shutil.copytree(shapes_root, root)
    return root


def refuse(cfg, message):
    with pytest.raises(ConfigError, match=message):
        ContinualRunner(cfg).train()


def first(folder):
    return sorted(folder.iterdir())[0]


def test_missing_mask(copy_of_data, tiny_config):
    path = first(copy_of_data / 'SegmentationClass')
    path.unlink()
    refuse(tiny_config(data_root=str(copy_of_data)), f'mask.*{path.name}')


def test_missing_image(copy_of_data, tiny_config):
    path = first(copy_of_data / 'JPEGImages')
    path.unlink()
    refuse(tiny_config(data_root=str(copy_of_data)), f'image.*{path.name}')


def test_missing_root(tiny_config, tmp_path):
    refuse(tiny_config(data_root=str(tmp_path / 'none')), 'none')


def test_label_outside_the_data_set(copy_of_data, tiny_config):
    path = first(copy_of_data / 'SegmentationClass')
    mask = np.array(Image.open(path))
    mask[0, 0] = 77
    Image.fromarray(mask).save(path)
    refuse(tiny_config(data_root=str(copy_of_data)), f'77.*{path.stem}|'
           f'{path.stem}.*77')


def test_step_smaller_than_a_batch(tiny_config):
    refuse(tiny_config(total_batch_size=90), 'fewer than the total batch')


@pytest.mark.parametrize('steps, message', [
    ([[1, 2, 3, 4, 5], [5, 6, 7, 8, 9, 10]], '5'),
    ([[1, 2, 3, 4, 5], [], [6, 7, 8, 9, 10]], 'step 1|Step 1'),
    ([[1, 2, 3, 4, 5], [6, 7, 8, 9]], '10'),
    ([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]], '11'),
])
def test_wrong_class_orders(tiny_config, steps, message):
    refuse(tiny_config(**{'scenario.steps': steps}), message)


def test_unknown_setting(tiny_config):
    refuse(tiny_config(**{'scenario.setting': 'overlaped'}), 'overlapped')


def test_unknown_scenario_key(tiny_config):
    refuse(tiny_config(**{'scenario.futur': 'ignore'}), 'future')
