"""Tiny ImageNet's two layouts."""
import os
import shutil
from pathlib import Path

import pytest
import torch
from PIL import Image

from mmseg_spwc.datasets.images.tiny_imagenet import TinyImageNet

CLASSES = ('n01', 'n02', 'n03')


def colour(wnid: str, i: int) -> tuple:
    return (40 * CLASSES.index(wnid) + 20, 30 * i + 10, 200)


def write_image(path: Path, value, size=(8, 6)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = 'RGB' if isinstance(value, tuple) else 'L'
    Image.new(mode, size, value).save(path, quality=95)


@pytest.fixture
def root(tmp_path):
    root = tmp_path / 'tiny'
    lines = []
    for wnid in CLASSES:
        for i in range(4):
            name = root / 'train' / wnid / 'images' / f'{wnid}_{i}.JPEG'
            write_image(name, colour(wnid, i))
    for i in range(6):
        wnid = CLASSES[i % 3]
        write_image(root / f'val/images/val_{i}.JPEG', colour(wnid, i))
        lines.append(f'val_{i}.JPEG\t{wnid}\t0\t1\t2\t3\n')
    (root / 'val/val_annotations.txt').write_text(''.join(lines))
    return root


def assert_colours(source, colours):
    assert source.images.shape[1:] == (3, 6, 8)
    assert source.images.dtype == torch.uint8
    expected = torch.tensor(colours)[:, :, None, None].double()
    assert (source.images.double() - expected).abs().max() <= 3  # JPEG


def test_official_layout(root):
    train = TinyImageNet(root)
    assert train.metainfo['classes'] == CLASSES
    assert train.labels.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert_colours(train, [colour(w, i) for w in CLASSES for i in range(4)])
    test = TinyImageNet(root, 'test')
    assert test.labels.tolist() == [0, 1, 2, 0, 1, 2]
    assert_colours(test, [colour(CLASSES[i % 3], i) for i in range(6)])
    some = TinyImageNet(root, per_class=2)
    assert torch.equal(some.images, train.images[[0, 1, 4, 5, 8, 9]])


@pytest.mark.parametrize('inner', ['', 'images'])
def test_val_by_folders(root, inner):
    shutil.rmtree(root / 'val')
    for i in range(6):
        wnid = CLASSES[i % 3]
        write_image(root / 'val' / wnid / inner / f'{i}.JPEG',
                    colour(wnid, i))
    test = TinyImageNet(root, 'test')
    assert test.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert_colours(test, [
        colour(CLASSES[i % 3], i) for i in (0, 3, 1, 4, 2, 5)
    ])


def test_grey_becomes_rgb(root):
    write_image(root / 'train/n01/images/n01_0.JPEG', 77)
    assert (TinyImageNet(root).images[0] == 77).all()


def test_errors_say_what_goes_where(root, tmp_path):
    with pytest.raises(FileNotFoundError, match='folders train and val'):
        TinyImageNet(tmp_path / 'nowhere')
    (root / 'val/images/val_2.JPEG').unlink()
    with pytest.raises(FileNotFoundError, match='1 images of .*val_2'):
        TinyImageNet(root, 'test')
    (root / 'val/val_annotations.txt').unlink()
    with pytest.raises(FileNotFoundError, match='val_annotations.txt into'):
        TinyImageNet(root, 'test')
    with pytest.raises(ValueError, match="'train' or 'test'"):
        TinyImageNet(root, 'val')


def test_bad_images(root):
    path = root / 'train/n02/images/n02_1.JPEG'
    write_image(path, (1, 2, 3), size=(9, 6))
    with pytest.raises(ValueError, match='n02_1.JPEG has 9x6 pixels'):
        TinyImageNet(root)
    path.write_bytes(b'no image')
    with pytest.raises(ValueError, match='n02_1.JPEG cannot be read'):
        TinyImageNet(root)


def test_unknown_class(root):
    notes = root / 'val/val_annotations.txt'
    notes.write_text(notes.read_text().replace('n03', 'n99'))
    with pytest.raises(ValueError, match='class n99 of the test set'):
        TinyImageNet(root, 'test')


@pytest.mark.slow
def test_real_images():
    root = Path(os.environ.get('MMSEG_SPWC_DATA', '')) / 'tiny-imagenet-200'
    if not root.is_dir():
        pytest.skip('needs tiny-imagenet-200 under $MMSEG_SPWC_DATA')
    test = TinyImageNet(root, 'test')
    assert test.images.shape[1:] == (3, 64, 64)
    counts = torch.bincount(test.labels)
    assert len(counts) == 200 and counts.unique().numel() == 1
