"""A sample that cannot be made names its files."""
import pytest

from mmseg_spwc.datasets.continual_seg import ContinualSegDataset
from mmseg_spwc.datasets.images import source
from mmseg_spwc.datasets.images.source import SampleSource
from mmseg_spwc.errors import SampleError, naming_files

INFO = dict(img_path='a.jpg', seg_map_path='a.png', reduce_zero_label=False)


def test_files_reason_and_remedy_are_said():
    with pytest.raises(SampleError) as caught, naming_files(INFO):
        raise OSError('gone')
    assert str(caught.value) == (
        'The sample of a.jpg and a.png cannot be made (OSError: gone): '
        'restore its files or correct the pipeline.')
    assert isinstance(caught.value.__cause__, OSError)


def test_what_works_is_left_alone():
    with naming_files(INFO):
        pass


def test_segmentation_names_a_vanished_image(tmp_path):
    from mmseg_spwc.datasets.shapes import generate_shapes
    generate_shapes(tmp_path, num_train=4, num_val=1, size=32, seed=0)
    dataset = ContinualSegDataset(
        dict(type='mmseg_spwc.ShapesDataset', data_root=str(tmp_path),
             pipeline=[dict(type='LoadImageFromFile'),
                       dict(type='LoadAnnotations')]),
        dict(dataset='shapes', name='offline'), 0)
    assert dataset[0]['img'].shape == (32, 32, 3)
    path = dataset.get_data_info(0)['img_path']
    (tmp_path / 'JPEGImages').rename(tmp_path / 'gone')
    with pytest.raises(SampleError, match=path):
        dataset[0]


class Broken:
    """Stands for an mmpretrain dataset with a missing image."""

    def get_gt_labels(self):
        return [0, 1]

    def get_data_info(self, index):
        return dict(img_path=f'{index}.jpg')

    def __getitem__(self, index):
        raise FileNotFoundError(f'{index}.jpg')


def test_classification_names_a_vanished_image(monkeypatch):
    monkeypatch.setattr(source.DATASETS, 'build', lambda c: Broken())
    with pytest.raises(SampleError, match='sample of 1.jpg'):
        SampleSource(dict(type='x'))[1]
