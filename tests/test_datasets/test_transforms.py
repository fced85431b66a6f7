"""The literature's transforms."""
import copy
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mmengine.registry import TRANSFORMS, init_default_scope
from mmseg.datasets.transforms import PackSegInputs

from mmseg_spwc.datasets.transforms import (
    AreaRandomResizedCrop,
    MapLabels,
    PackSample,
    RandomMirror,
    ShortSideCentreCrop,
)
from mmseg_spwc.scenario import get_scenario
from mmseg_spwc.utils.random_state import seeded


def sample(height, width):
    seg = np.arange(height * width).reshape(height, width) % 21
    return dict(
        img=np.random.randint(0, 255, (height, width, 3), dtype=np.uint8),
        gt_seg_map=seg.astype(np.uint8),
        seg_fields=['gt_seg_map'])


def test_labels_are_mapped_as_pixel_by_pixel():
    scenario = get_scenario('voc', '15-1')
    table = scenario.train_table(2)
    labels = np.random.randint(0, 256, (37, 53)).astype(np.uint8)
    mapped = MapLabels(table)(dict(gt_seg_map=labels))['gt_seg_map']
    for _ in range(200):
        i, j = np.random.randint(37), np.random.randint(53)
        assert mapped[i, j] == table[int(labels[i, j])]
    assert mapped.dtype == np.uint8


def test_a_short_table_is_refused():
    with pytest.raises(ValueError, match='256 entries'):
        MapLabels(range(21))


@settings(deadline=None, max_examples=60)
@given(st.integers(20, 400), st.integers(20, 400), st.integers(0, 999))
def test_crop_lies_inside_and_keeps_area_and_aspect(height, width, seed):
    crop = AreaRandomResizedCrop(32)
    with seeded(seed):
        top, left, h, w = crop.crop_box(height, width)
    assert 0 <= top <= height - h and 0 <= left <= width - w
    assert h > 0 and w > 0
    share = h * w / (height * width)
    fallback = (top, left) == ((height - h) // 2, (width - w) // 2)
    assert fallback or share >= 0.5 - 2 / min(h, w)
    slack = 1 + 1.5 / min(h, w)
    assert 3 / 4 / slack <= w / h <= 4 / 3 * slack


def test_crops_are_drawn_as_by_numpy_uniform():
    """A try draws an area and an aspect; the draws are numpy's own."""
    crop = AreaRandomResizedCrop(32, tries=1)
    for seed in range(200):
        with seeded(seed):
            target = 40 * 50 * np.random.uniform(0.5, 2.0)
            aspect = np.exp(np.random.uniform(*np.log([3 / 4, 4 / 3])))
        w, h = round((target * aspect)**.5), round((target / aspect)**.5)
        with seeded(seed):
            _, _, height, width = crop.crop_box(40, 50)
        if 0 < w <= 50 and 0 < h <= 40:
            assert (height, width) == (h, w)
        else:
            assert (height, width) == (40, 50)


def test_median_share_is_the_published_one():
    """500 x 375: drawn crops cover 64 % in the median, 14 % fall back."""
    crop = AreaRandomResizedCrop(512)
    with seeded(0):
        boxes = [crop.crop_box(375, 500) for _ in range(4000)]
    shares = np.array([h * w for _, _, h, w in boxes]) / (375 * 500)
    whole = np.mean([box[2:] == (375, 500) for box in boxes])
    assert abs(np.median(shares[shares < 1]) - 0.64) < 0.02
    assert abs(whole - 0.14) < 0.02


def test_crop_gives_squares_and_nearest_labels():
    with seeded(3):
        results = AreaRandomResizedCrop(24)(sample(40, 50))
    assert results['img'].shape == (24, 24, 3)
    assert results['gt_seg_map'].shape == (24, 24)
    assert results['gt_seg_map'].max() < 21


def test_centre_crop_scores_at_its_own_size():
    results = ShortSideCentreCrop(32)(sample(40, 60))
    assert results['img'].shape == (32, 32, 3)
    assert results['ori_shape'] == (32, 32) == results['img_shape']
    assert results['gt_seg_map'].shape == (32, 32)


@settings(deadline=None, max_examples=40)
@given(st.integers(5, 90), st.integers(5, 90))
def test_centre_crop_of_any_shape(height, width):
    results = ShortSideCentreCrop(16)(sample(height, width))
    assert results['gt_seg_map'].shape == (16, 16)


def test_centre_crop_keeps_the_centre():
    results = dict(
        img=np.zeros((32, 64, 3), np.uint8),
        gt_seg_map=np.tile(np.arange(64, dtype=np.uint8), (32, 1)),
        seg_fields=['gt_seg_map'])
    columns = ShortSideCentreCrop(32)(results)['gt_seg_map'][0]
    assert columns.tolist() == list(range(16, 48))
    assert math.isclose(columns.mean(), 31.5)


@pytest.mark.parametrize('prob', [0, .3, .5, 1])
def test_mirroring_is_mmsegs_flip(prob):
    init_default_scope('mmseg')
    theirs = TRANSFORMS.build(dict(type='RandomFlip', prob=float(prob)))
    flips = set()
    for seed in range(20):
        given = sample(9, 7)
        with seeded(seed):
            a = RandomMirror(prob)(copy.deepcopy(given))
            after = np.random.random_sample()
        with seeded(seed):
            b = theirs(copy.deepcopy(given))
            assert np.random.random_sample() == after
        for key in ('img', 'gt_seg_map'):
            assert np.array_equal(a[key], b[key])
        assert (a['flip'], a['flip_direction']) == (
            b['flip'], b['flip_direction'])
        flips.add(a['flip'])
    assert len(flips) == (1 if prob in (0, 1) else 2)
    with pytest.raises(ValueError, match='0 to 1'):
        RandomMirror(2)


@pytest.mark.parametrize('change', [
    lambda s: s, lambda s: dict(s, img=s['img'][:, ::-1], flip=True),
    lambda s: dict(s, img=s['img'][2:6, 1:5], gt_seg_map=s['gt_seg_map'][
        2:6, 1:5]),
    lambda s: dict(s, img=s['img'][..., 0]),
    lambda s: dict(s, gt_depth_map=np.ones((9, 7), np.float32)),
    lambda s: {k: v for k, v in s.items() if k != 'gt_seg_map'},
    lambda s: dict(s, img=s['img'].astype(np.float32))])
def test_packing_is_mmsegs(change):
    given = change(dict(sample(9, 7), img_path='a.jpg', ori_shape=(9, 7)))
    ours, theirs = (pack()(copy.deepcopy(given))
                    for pack in (PackSample, PackSegInputs))
    assert sorted(ours) == sorted(theirs)
    assert torch.equal(ours['inputs'], theirs['inputs'])
    assert ours['inputs'].dtype == theirs['inputs'].dtype
    assert ours['inputs'].is_contiguous()
    ours, theirs = ours['data_samples'], theirs['data_samples']
    for key in theirs.keys():  # noqa: SIM118
        assert torch.equal(ours.get(key).data, theirs.get(key).data)
        assert ours.get(key).data.dtype == theirs.get(key).data.dtype
    assert ours.metainfo == theirs.metainfo
    assert ours.keys() == theirs.keys()
