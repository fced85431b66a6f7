"""Decoded images that are kept are those that are read."""
import copy
import os
import pickle
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader

from mmseg_spwc.datasets import continual_seg
from mmseg_spwc.datasets.continual_seg import ContinualSegDataset
from mmseg_spwc.datasets.decoded import decoded_gigabytes
from mmseg_spwc.datasets.loading import SeededSampler
from mmseg_spwc.datasets.shapes import generate_shapes

LOADING = [dict(type='LoadImageFromFile'), dict(type='LoadAnnotations')]
LATER = [dict(type='mmseg_spwc.AreaRandomResizedCrop', size=24),
         dict(type='RandomFlip', prob=.5), dict(type='PackSegInputs')]


@pytest.fixture(scope='module')
def root(tmp_path_factory):
    return generate_shapes(
        tmp_path_factory.mktemp('data') / 'shapes', 24, 1, 40)


@pytest.fixture
def make(root, tmp_path):

    def build(pipeline=(*LOADING, *LATER), **options):
        return ContinualSegDataset(
            dict(type='mmseg_spwc.ShapesDataset', data_root=str(root),
                 ann_file='ImageSets/Segmentation/train.txt',
                 pipeline=list(pipeline)),
            dict(dataset='shapes', name='6-1'), cache_dir=str(tmp_path),
            **{'step': 0, **options})

    return build


def equal(a, b):
    assert torch.equal(a['inputs'], b['inputs'])
    assert torch.equal(a['data_samples'].gt_sem_seg.data,
                       b['data_samples'].gt_sem_seg.data)
    assert a['data_samples'].metainfo == b['data_samples'].metainfo


def never(info):  # stands for the loading
    raise AssertionError('read once more')


def test_samples_are_the_same_in_every_epoch(make):
    plain, kept = make(), make(keep_decoded=.01)
    assert len(plain) == len(kept) > 2
    for epoch in range(3):
        for i in range(len(plain)):
            equal(plain[i, epoch], kept[i, epoch])
        kept.parts[0].decoded.loading = never  # from now on


@pytest.mark.parametrize('options', [
    dict(heldout=dict(ratio=.4, seed=1)),
    dict(heldout=dict(ratio=.4, seed=1), role='heldout'),
    dict(cumulative=True, step=1), dict(role='test', step=1)])
def test_every_slice_can_be_kept(make, options):
    plain, kept = make(**options), make(keep_decoded=.01, **options)
    assert len(kept) > 0
    for _ in range(2):
        for i in range(len(plain)):
            equal(plain[i], kept[i])
    assert kept.parts[0].decoded.table[:, 4].all()


def test_what_is_done_to_a_sample_stays_there(make):
    kept = make([*LOADING], keep_decoded=.01)
    kept[0]['img'][:] = 7  # decoded
    kept[0]['img'][:] = 7  # from memory
    kept[0]['gt_seg_map'][:] = 7
    plain = make([*LOADING])[0]
    again = kept[0]
    assert sorted(again) == sorted(plain)
    assert np.array_equal(again['img'], plain['img'])
    assert np.array_equal(again['gt_seg_map'], plain['gt_seg_map'])
    assert again['seg_fields'] == plain['seg_fields'] == ['gt_seg_map']
    assert again['img_shape'] == plain['img_shape'] == again['ori_shape']


@pytest.mark.parametrize('how', [
    'fork', pytest.param('spawn', marks=pytest.mark.slow)])
def test_workers_share_what_they_decode(make, how):
    plain, kept = make(), make(keep_decoded=.01)
    loader = DataLoader(
        kept, sampler=SeededSampler(kept, seed=0), num_workers=2,
        collate_fn=list, multiprocessing_context=how)
    for key, (sample, ) in zip(loader.sampler, loader, strict=True):
        equal(plain[key], sample)
    # the main process has read none of them, and has them all
    kept.parts[0].decoded.loading = never
    for i in range(len(plain)):
        equal(plain[i, 1], kept[i, 1])


def test_a_worker_that_is_killed_blocks_nobody(make):
    kept = make(keep_decoded=.01)
    decoded = kept.parts[0].decoded
    with ProcessPoolExecutor(
            1, get_context('fork'), hold_lock, (decoded, )) as pool, \
            pytest.raises(BrokenProcessPool):
        pool.submit(int).result()
    equal(kept[0], make()[0])


def hold_lock(decoded):
    with decoded._locked():
        os.kill(os.getpid(), signal.SIGKILL)


def test_memory_is_bounded_and_given_back(make, monkeypatch):
    said = []
    monkeypatch.setattr(continual_seg, 'warn', said.append)
    size = 4 * 40 * 40  # bytes of an image and its mask
    kept = make(keep_decoded=2.5 * size / 1e9)
    assert len(kept) == 22 and len(said) == 1
    assert '0.00014 GB: keep_decoded=1.6e-05 holds 11% of them' in said[0]
    plain = make()
    for _ in range(2):
        for i in range(len(plain)):
            equal(plain[i], kept[i])
    assert kept.parts[0].decoded.table[:, 4].sum() == 2
    assert kept.parts[0].decoded.used == 2 * size
    file = kept.parts[0].decoded.file.fileno()
    os.fstat(file)
    del kept
    with pytest.raises(OSError):
        os.fstat(file)


def test_other_forms_are_loaded_every_time(make):
    pipeline = [dict(LOADING[0], to_float32=True), LOADING[1]]
    kept = make(pipeline, keep_decoded=.01)
    for _ in range(2):
        assert kept[0]['img'].dtype == np.float32
    assert not kept.parts[0].decoded.used


def test_copies_keep_nothing_and_work(make):
    kept = make(keep_decoded=.01)
    first = kept[0]
    for other in (copy.deepcopy(kept), pickle.loads(pickle.dumps(kept))):
        assert other.parts[0].decoded.file is None
        equal(other[0], first)


def test_pipelines_that_load_otherwise_are_refused(make):
    resized = [LOADING[0], dict(type='Resize', scale=(8, 8)), LOADING[1]]
    with pytest.raises(ValueError, match='not with .* and Resize: change it'):
        make(resized, keep_decoded=1)


def test_needed_memory_is_estimated_from_some_files(tmp_path):
    paths = [tmp_path / f'{i}.png' for i in range(120)]
    for path in paths:
        Image.new('RGB', (50, 30)).save(path)
    assert decoded_gigabytes(paths) == pytest.approx(120 * 4 * 1500 / 1e9)
    assert decoded_gigabytes([tmp_path / 'none.png']) is None
    assert decoded_gigabytes([]) is None
