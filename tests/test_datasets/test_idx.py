"""MNIST's file format."""
import gzip
import os
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch

from mmseg_spwc.datasets.images.idx import IdxImages, read_idx


def idx_bytes(array) -> bytes:
    header = bytes([0, 0, 8, array.ndim])
    return header + struct.pack(f'>{array.ndim}I', *array.shape) + (
        array.astype(np.uint8).tobytes())


def write_idx(root: Path, prefix: str, images, labels, packed=False) -> None:
    for name, array in (('images-idx3-ubyte', images),
                        ('labels-idx1-ubyte', labels)):
        content = idx_bytes(array)
        path = root / f'{prefix}-{name}'
        if packed:
            path = path.with_name(path.name + '.gz')
            content = gzip.compress(content)
        path.write_bytes(content)


@pytest.fixture
def digits():
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (7, 4, 3)), rng.integers(0, 10, 7)


@pytest.mark.parametrize('packed', [False, True])
def test_reads_both_splits(tmp_path, digits, packed):
    images, labels = digits
    write_idx(tmp_path, 'train', images, labels, packed)
    write_idx(tmp_path, 't10k', images[::-1], labels[::-1], packed)
    train = IdxImages(tmp_path)
    assert len(train) == 7
    assert train.images.shape == (7, 1, 8, 7)
    assert train.images.dtype == torch.uint8
    assert train.labels.dtype == torch.int64
    assert train.labels.tolist() == labels.tolist()
    assert train.metainfo['classes'] == tuple('0123456789')
    for i in range(7):
        for y in range(8):
            for x in range(7):
                inside = 2 <= y < 6 and 2 <= x < 5
                pixel = images[i, y - 2, x - 2] if inside else 0
                assert train.images[i, 0, y, x] == pixel
    test = IdxImages(tmp_path, 'test', pad=0)
    assert torch.equal(test.images[:, 0],
                       train.images[:, 0, 2:-2, 2:-2].flip(0))


def test_limit_takes_the_first(tmp_path, digits):
    images, labels = digits
    write_idx(tmp_path, 'train', images, labels)
    some = IdxImages(tmp_path, pad=0, limit=3, classes=list('abcdefghij'))
    assert some.images[:, 0].tolist() == images[:3].tolist()
    assert some.labels.tolist() == labels[:3].tolist()
    assert some.metainfo['classes'][1] == 'b'


def test_folder_below_the_root(tmp_path, digits):
    (tmp_path / 'fashion').mkdir()
    write_idx(tmp_path / 'fashion', 'train', *digits)
    inner = IdxImages(tmp_path, folder='fashion')
    assert torch.equal(inner.images, IdxImages(tmp_path / 'fashion').images)
    with pytest.raises(FileNotFoundError, match='train-images-idx3-ubyte'):
        IdxImages(tmp_path)


def test_missing_files_and_wrong_split(tmp_path):
    with pytest.raises(
            FileNotFoundError, match='t10k-images-idx3-ubyte or .*gz into'):
        IdxImages(tmp_path, 'test')
    with pytest.raises(ValueError, match="'train' or 'test'"):
        IdxImages(tmp_path, 'val')


@pytest.mark.parametrize(('content', 'message'), [
    (b'', 'starts with nothing'),
    (b'\0\0\x0d\1\0\0\0\1abcd', 'not an IDX file of bytes'),
    (b'\0\0\x08\3\0\0', 'ends within its header'),
    (b'\0\0\x08\1\0\0\0\3ab', 'has 2 elements, but its header'),
    (b'\0\0\x08\1\0\0\0\3abcd', 'has 4 elements, but its header'),
])
def test_broken_files(tmp_path, content, message):
    path = tmp_path / 'file'
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_idx(path)


def test_broken_archive(tmp_path):
    whole = gzip.compress(bytes(range(256)) * 20)
    for name, content in (('a.gz', whole[:-30]), ('b.gz', b'no archive')):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match='broken'):
            read_idx(tmp_path / name)


@pytest.mark.parametrize(('shape', 'more', 'message'), [
    (b'\0\0\0\3', 2**25, 'elements or more, but its header'),
    (b'\x7f\0\0\0', 0, 'bytes, says its header'),
])
def test_archives_that_unpack_to_gigabytes(tmp_path, shape, more, message):
    path = tmp_path / 'a.gz'
    path.write_bytes(gzip.compress(b'\0\0\x08\1' + shape + bytes(more)))
    tracemalloc.start()
    with pytest.raises(ValueError, match=message):
        read_idx(path)
    assert tracemalloc.get_traced_memory()[1] < 2**23
    tracemalloc.stop()


@pytest.mark.parametrize('at', [12, 200, -6])
def test_a_damaged_archive(tmp_path, at):
    content = bytearray(gzip.compress(
        b'\0\0\x08\1\0\0\x08\0' + os.urandom(2048)))
    content[at] ^= 255
    (tmp_path / 'a.gz').write_bytes(content)
    with pytest.raises(ValueError, match='broken'):
        read_idx(tmp_path / 'a.gz')


def test_images_and_labels_that_do_not_fit(tmp_path, digits):
    images, labels = digits
    write_idx(tmp_path, 'train', images, labels[:-1])
    with pytest.raises(ValueError, match='7 images have 6 labels'):
        IdxImages(tmp_path)
    write_idx(tmp_path, 'train', labels, labels)
    with pytest.raises(ValueError, match='1 dimensions, 3 are needed'):
        IdxImages(tmp_path)


@pytest.mark.slow
def test_real_mnist():
    root = Path(os.environ.get('MMSEG_SPWC_DATA', '')) / 'mnist'
    if not root.is_dir():
        pytest.skip('needs mnist under $MMSEG_SPWC_DATA')
    train = IdxImages(root, limit=50000)
    assert train.images.shape == (50000, 1, 32, 32)
    assert len(IdxImages(root)) == 60000
    test = IdxImages(root, 'test')
    # published counts of the ten digits
    assert torch.bincount(test.labels).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009
    ]
    # the published mean intensity of the training images, 28x28
    mean = IdxImages(root, pad=0).images.double().mean().item() / 255
    assert mean == pytest.approx(0.1307, abs=5e-5)
