"""CIFAR-100's pickles, and pickles that mean harm."""
import io
import pickle
import struct

import numpy as np
import pytest
import torch

from mmseg_spwc.datasets.images.cifar import CifarImages, load_arrays


class OldPickler(pickle._Pickler):
    """Writes text as Python 2 did, in which the original files are."""

    dispatch = dict(pickle._Pickler.dispatch)

    def save_old_string(self, value):
        raw = value.encode('latin1') if isinstance(value, str) else value
        self.write(pickle.BINSTRING + struct.pack('<i', len(raw)) + raw)
        self.memoize(value)

    dispatch[str] = dispatch[bytes] = save_old_string


def write_pickle(path, content, pickler=OldPickler):
    path.parent.mkdir(parents=True, exist_ok=True)
    file = io.BytesIO()
    pickler(file, protocol=2).dump(content)
    # the name of numpy's core before numpy 2
    path.write_bytes(file.getvalue().replace(b'numpy._core', b'numpy.core')
                     if pickler is OldPickler else file.getvalue())


def content(count):
    rng = np.random.default_rng(count)
    return {
        'data': rng.integers(0, 256, (count, 3072)).astype(np.uint8),
        'filenames': [f'{i}.png' for i in range(count)],
        'batch_label': 'training batch 1 of 1',
        'fine_labels': [i * 7 % 100 for i in range(count)],
        'coarse_labels': [0] * count,
    }


def write_cifar(root, pickler=OldPickler):
    names = [f'class_{i}' for i in range(100)]
    write_pickle(root / 'train', content(5), pickler)
    write_pickle(root / 'test', content(3), pickler)
    write_pickle(root / 'meta', {'fine_label_names': names}, pickler)


@pytest.mark.parametrize('folder', ['.', 'cifar-100-python'])
@pytest.mark.parametrize('pickler', [OldPickler, pickle.Pickler])
def test_reads_both_splits(tmp_path, folder, pickler):
    write_cifar(tmp_path / folder, pickler)
    source = CifarImages(tmp_path)
    data = content(5)
    assert source.images.shape == (5, 3, 32, 32)
    assert source.images.dtype == torch.uint8
    assert source.labels.tolist() == [0, 7, 14, 21, 28]
    assert source.metainfo['classes'][99] == 'class_99'
    # row-major within a channel, red first
    for i, channel, y, x in ((0, 0, 0, 1), (2, 1, 5, 31), (4, 2, 31, 0)):
        pixel = data['data'][i][channel * 1024 + y * 32 + x]
        assert source.images[i, channel, y, x] == pixel
    assert len(CifarImages(tmp_path, 'test')) == 3


def test_some_images_of_every_class(tmp_path):
    write_cifar(tmp_path)
    several = dict(content(7), fine_labels=[3, 0, 3, 3, 0, 9, 3])
    write_pickle(tmp_path / 'train', several)
    every = CifarImages(tmp_path)
    source = CifarImages(tmp_path, per_class=2)
    assert source.labels.tolist() == [3, 0, 3, 0, 9]
    assert torch.equal(source.images, every.images[[0, 1, 2, 4, 5]])
    assert len(source.parts) == 5
    for wrong in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match=f'per_class is {wrong!r}: give'):
            CifarImages(tmp_path, per_class=wrong)


def test_missing_files(tmp_path):
    write_cifar(tmp_path)
    (tmp_path / 'meta').unlink()
    with pytest.raises(
            FileNotFoundError, match='cifar-100-python/meta or meta into'):
        CifarImages(tmp_path)
    with pytest.raises(ValueError, match="'train' or 'test'"):
        CifarImages(tmp_path, 'val')


def test_wrong_content(tmp_path):
    write_cifar(tmp_path)
    write_pickle(tmp_path / 'train', dict(content(5), data=np.zeros((5, 7))))
    with pytest.raises(ValueError, match=r'float64 of shape \(5, 7\)'):
        CifarImages(tmp_path)
    ten = content(5)
    ten['labels'] = ten.pop('fine_labels')
    write_pickle(tmp_path / 'train', ten)
    with pytest.raises(ValueError, match="no 'fine_labels'"):
        CifarImages(tmp_path)
    write_pickle(tmp_path / 'train', [1, 2])
    with pytest.raises(ValueError, match='holds no dict'):
        CifarImages(tmp_path)
    (tmp_path / 'train').write_bytes(b'\x80\x02}q\x00(')
    with pytest.raises(ValueError, match='cannot be read.*Get it anew'):
        CifarImages(tmp_path)


class Call:
    """Pickles as a call of any function."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


def test_malicious_pickles_do_not_run(tmp_path):
    import os
    trace = tmp_path / 'executed'
    calls = [
        Call(os.system, f'touch {trace}'),
        Call(eval, f'open({str(trace)!r}, "w")'),
        Call(exec, f'open({str(trace)!r}, "w")'),
        Call(open, str(trace), 'w'),
        Call(np.load, str(trace)),
    ]
    for call in calls:
        write_pickle(tmp_path / 'train', dict(content(2), data=call),
                     pickle.Pickler)
        with pytest.raises(ValueError, match='which no image needs'):
            load_arrays(tmp_path / 'train')
        assert not trace.exists()
    # the control: an ordinary reader would have run it
    write_pickle(tmp_path / 'train', calls[0], pickle.Pickler)
    pickle.loads((tmp_path / 'train').read_bytes())
    assert trace.exists()
