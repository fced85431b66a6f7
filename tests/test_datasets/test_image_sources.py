"""Sources that need no files of their own, and how sources are loaded."""
import numpy as np
import pytest
import torch
from mmengine.registry import init_default_scope
from PIL import Image
from sklearn.datasets import load_digits

from mmseg_spwc.datasets.images import source
from mmseg_spwc.datasets.images.idx import DigitImages
from mmseg_spwc.datasets.images.source import (
    ImageSource,
    is_source,
    load_source,
)
from mmseg_spwc.registry import DATASETS

PIPELINE = [dict(type='LoadImageFromFile'), dict(type='PackInputs')]


@pytest.fixture
def mmpretrain_scope():
    pytest.importorskip('mmpretrain')
    import mmpretrain.datasets  # noqa: F401
    init_default_scope('mmpretrain')


def folder_config(root, sizes=((6, 4), (6, 4), (6, 4)), **kw):
    """Two classes of PNG files whose grey value is their number."""
    for i, size in enumerate(sizes):
        path = root / 'ab'[i % 2] / f'{i}.png'
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new('RGB', size, (i, i, i)).save(path)
    return dict(
        type='CustomDataset', data_prefix=str(root), pipeline=PIPELINE, **kw)


def test_digits():
    train, test = DigitImages('train'), DigitImages('test')
    assert (len(train), len(test)) == (1438, 359)
    assert train.images.shape == (1438, 1, 32, 32)
    assert train.images.dtype == torch.uint8
    digits = load_digits()
    everything = np.concatenate([train.images, test.images])[:, 0]
    found = sorted(image.tobytes() for image in everything)
    expected = sorted(
        np.kron(np.floor(image * 255 / 16 + 0.5), np.ones((4, 4))).astype(
            np.uint8).tobytes() for image in digits.images)
    assert found == expected
    counts = torch.bincount(train.labels) + torch.bincount(test.labels)
    assert counts.tolist() == np.bincount(digits.target).tolist()
    share = torch.bincount(test.labels) / counts
    assert (share - 0.2).abs().max() < 0.01
    assert torch.equal(DigitImages('test').images, test.images)
    with pytest.raises(ValueError, match="'train' or 'test'"):
        DigitImages('val')


def test_in_memory(tmp_path, mmpretrain_scope):
    config = dict(
        type='mmseg_spwc.InMemoryImages', dataset=folder_config(tmp_path))
    images = DATASETS.build(config)
    assert images.images.shape == (3, 3, 4, 6)
    assert images.images[:, 0, 0, 0].tolist() == [0, 2, 1]
    assert images.labels.tolist() == [0, 0, 1]
    assert images.metainfo['classes'] == ('a', 'b')
    assert is_source(config)


def test_in_memory_takes_a_root(tmp_path, mmpretrain_scope):
    dataset = dict(folder_config(tmp_path / 'here'), data_prefix='here')
    images = DATASETS.build(
        dict(
            type='mmseg_spwc.InMemoryImages',
            dataset=dataset,
            data_root=str(tmp_path)))
    assert len(images) == 3


def test_in_memory_refuses(tmp_path, mmpretrain_scope):
    config = folder_config(tmp_path, sizes=((6, 4), (5, 4)))
    with pytest.raises(ValueError, match='Resize'):
        DATASETS.build(dict(type='mmseg_spwc.InMemoryImages', dataset=config))
    config['pipeline'] = PIPELINE[:1]
    with pytest.raises(ValueError, match='PackInputs'):
        DATASETS.build(dict(type='mmseg_spwc.InMemoryImages', dataset=config))


def test_loaded_once(monkeypatch):
    monkeypatch.setattr(source, '_loaded', type(source._loaded)())
    config = dict(type='mmseg_spwc.DigitImages', split='test')
    first = load_source(config)
    assert load_source(dict(reversed(config.items()))) is first
    both = dict(type='ConcatDataset', datasets=[config, config])
    joined = load_source(both)
    assert len(joined) == 2 * len(first)
    assert joined.parts.tolist() == [0] * 359 + [1] * 359
    assert torch.equal(joined.images[359:], first.images)
    assert joined.metainfo == first.metainfo
    for count in range(4):
        load_source(dict(both, datasets=[config] * (count + 3)))
    assert len(source._loaded) == 4
    assert load_source(config) is not first


def test_what_is_a_source():
    digits = dict(type='mmseg_spwc.DigitImages')
    assert is_source(digits)
    assert is_source(dict(type=DigitImages))
    assert is_source(dict(type='ConcatDataset', datasets=[digits]))
    other = dict(type='mmseg_spwc.ShapesDataset')
    assert not is_source(other)
    assert not is_source(dict(type='CIFAR100'))
    assert not is_source(dict(type='ConcatDataset', datasets=[digits, other]))


def test_sources_that_do_not_fit():
    one = ImageSource(torch.zeros(1, 1, 4, 4), torch.zeros(1), 'a')
    two = ImageSource(torch.zeros(1, 3, 4, 4), torch.zeros(1), 'a')
    with pytest.raises(ValueError, match='sources of one shape'):
        source.concatenate([one, two])
