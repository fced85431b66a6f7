import colorsys
import json
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import mmseg_spwc  # noqa: F401  makes mmseg importable
from mmseg_spwc.datasets import shapes, shapes_drawing
from mmseg_spwc.datasets.shapes import ShapesDataset, digest, generate_shapes
from mmseg_spwc.datasets.shapes_drawing import draw_sample, paint
from mmseg_spwc.datasets.shapes_outlines import (
    CLASSES,
    OUTLINES,
    place_outline,
)
from mmseg_spwc.registry import DATASETS

SMALL = dict(num_train=5, num_val=3, size=48, seed=7)


def _files(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob('*') if path.is_file()
    }


def _inside(outlines, x, y):
    """Even-odd rule: count the edges that a ray to the right crosses."""
    crossings = 0
    for outline in outlines:
        for (x0, y0), (x1, y1) in zip(
                outline, np.roll(outline, -1, axis=0), strict=True):
            if (y0 > y) != (y1 > y):
                crossings += x < x0 + (y - y0) * (x1 - x0) / (y1 - y0)
    return crossings % 2 == 1


def _distance(outlines, x, y):
    """Distance from a point to the nearest edge."""
    p = np.concatenate(outlines)
    edge = np.concatenate([np.roll(o, -1, axis=0) for o in outlines]) - p
    point = np.array([x, y]) - p
    length = np.maximum((edge**2).sum(axis=1), 1e-12)
    along = np.clip((point * edge).sum(axis=1) / length, 0, 1)
    return np.linalg.norm(point - along[:, None] * edge, axis=1).min()


@pytest.mark.parametrize('name', CLASSES)
def test_label_is_the_area_inside_the_outline(name):
    outlines = place_outline(name, np.array([20., 19.]), 13., 0.6, 1.1)
    image = np.zeros((40, 40, 3), np.float32)
    label = np.zeros((40, 40), np.uint8)
    paint(image, label, outlines, lambda y, x: np.full(3, 200.), 4)
    assert set(np.unique(label)) == {0, 4, 255}
    for y in range(0, 40, 2):
        for x in range(y % 4 // 2, 40, 2):
            distance = _distance(outlines, x, y)
            if distance > 2:
                inside = _inside(outlines, x, y)
                assert label[y, x] == (4 if inside else 0), (x, y)
                assert abs(image[y, x, 0] - 200 * inside) < 5, (x, y)
            assert distance < 1.5 or label[y, x] != 255, (x, y)


def test_background_is_painted_without_a_border():
    image = np.zeros((32, 32, 3), np.float32)
    label = np.full((32, 32), 3, np.uint8)
    paint(image, label, place_outline('disc', np.array([16., 16.]), 8., 0.),
          lambda y, x: np.ones(3), 0)
    assert set(np.unique(label)) == {0, 3}
    assert label[16, 16] == 0


def test_placing_an_outline_turns_stretches_and_moves_it():
    square = place_outline('square', np.array([5., 7.]), 2., np.pi / 2, 1.5)
    half = 1.1 * np.sqrt(.5) * 2.
    width, height = np.ptp(square[0], axis=0)
    assert width == pytest.approx(2 * half / 1.5)  # a quarter turn swaps them
    assert height == pytest.approx(2 * half * 1.5)
    assert square[0][:-1].mean(axis=0) == pytest.approx([5., 7.])


@given(st.floats(-720, 720), st.floats(0, 1), st.floats(0, 1))
@settings(deadline=None, max_examples=60)
def test_colour_is_that_of_the_standard_library(hue, saturation, value):
    expected = colorsys.hsv_to_rgb(hue % 360 / 360, saturation, value)
    np.testing.assert_allclose(
        shapes_drawing._colour(hue, saturation, value),
        255 * np.array(expected), atol=1e-6)


@given(st.integers(0, 2**32), st.sampled_from([32, 64, 96]))
@settings(deadline=None, max_examples=25)
def test_a_sample_is_well_formed(seed, size):
    image, label = draw_sample(size, np.random.default_rng(seed))
    assert image.shape == (size, size, 3) and image.dtype == np.uint8
    assert label.shape == (size, size) and label.dtype == np.uint8
    found = set(np.unique(label)) - {0, 255}
    assert 1 <= len(found) <= 4 and max(found) <= len(CLASSES)
    assert image.std() > 5


def test_classes_are_frequent_in_a_slightly_skewed_way():
    pixels, images = Counter(), Counter()
    for index in range(300):
        _, label = draw_sample(48, np.random.default_rng(index))
        ids, counts = np.unique(label, return_counts=True)
        images.update(ids.tolist())
        pixels.update(dict(zip(ids.tolist(), counts.tolist(), strict=True)))
    assert sum(shapes_drawing.FREQUENCIES) == pytest.approx(1)
    shares = [images[1 + i] / 300 for i in range(len(CLASSES))]
    assert min(shares) > 0.1 and max(shares) < 0.45
    assert sum(shares[:5]) > sum(shares[5:])
    assert 0.6 < pixels[0] / (300 * 48 * 48) < 0.9


def test_layout_is_that_of_voc(tmp_path):
    root = generate_shapes(tmp_path / 'deep' / 'shapes', **SMALL)
    for split, count in dict(train=5, val=3).items():
        names = (root / f'ImageSets/Segmentation/{split}.txt'
                 ).read_text().split()
        assert len(set(names)) == count
        for name in names:
            image = Image.open(root / f'JPEGImages/{name}.jpg')
            mask = Image.open(root / f'SegmentationClass/{name}.png')
            assert image.size == mask.size == (48, 48)
            assert image.mode == 'RGB' and mask.mode == 'P'
            values = set(np.unique(np.asarray(mask)))
            assert values <= {*range(len(CLASSES) + 1), 255}
    assert mask.getpalette()[3:6] == shapes.PALETTE[1]
    assert not [p for p in root.parent.iterdir() if p != root]


def test_mask_holds_the_drawn_labels(tmp_path):
    root = generate_shapes(tmp_path / 'shapes', **SMALL)
    _, label = draw_sample(48, np.random.default_rng([7, 1, 2]))
    mask = Image.open(root / 'SegmentationClass/val_000002.png')
    assert np.array_equal(np.asarray(mask), label)


def test_bytes_do_not_depend_on_workers_or_counts(tmp_path):
    one = _files(generate_shapes(tmp_path / 'one', **SMALL))
    three = _files(
        generate_shapes(tmp_path / 'three', **SMALL, num_workers=3))
    assert one == three
    more = _files(
        generate_shapes(tmp_path / 'more', **{**SMALL, 'num_train': 6}))
    pictures = {k for k in one if k.startswith(('JPEG', 'SegmentationC'))}
    assert all(one[k] == more[k] for k in pictures)


def test_seeds_and_splits_differ(tmp_path):
    one = _files(generate_shapes(tmp_path / 'one', **SMALL))
    two = _files(generate_shapes(tmp_path / 'two', **{**SMALL, 'seed': 8}))
    for name in one:
        if name.startswith('JPEG'):
            assert one[name] != two[name]
    pictures = [v for k, v in one.items() if k.startswith('JPEG')]
    assert len(set(pictures)) == 8


def test_calling_again_changes_nothing(tmp_path):
    root = generate_shapes(tmp_path / 'shapes', **SMALL)
    before = {p: p.stat().st_mtime_ns for p in root.rglob('*')}
    time.sleep(0.01)
    assert generate_shapes(root, **SMALL, num_workers=2) == root
    assert before == {p: p.stat().st_mtime_ns for p in root.rglob('*')}


def test_record_tells_parameters_and_finds_damage(tmp_path):
    root = generate_shapes(tmp_path / 'shapes', **SMALL)
    record = json.loads((root / 'shapes.json').read_text())
    assert record['version'] == shapes.VERSION
    assert record['parameters'] == SMALL
    assert record['sha256'] == digest(root)
    damaged = root / 'SegmentationClass/train_000000.png'
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert record['sha256'] != digest(root)


def test_other_parameters_or_contents_are_refused(tmp_path, monkeypatch):
    root = generate_shapes(tmp_path / 'shapes', **SMALL)
    with pytest.raises(FileExistsError, match="'seed': 7.*'seed': 8"):
        generate_shapes(root, **{**SMALL, 'seed': 8})
    monkeypatch.setattr(shapes, 'VERSION', shapes.VERSION + 1)
    with pytest.raises(FileExistsError, match='version'):
        generate_shapes(root, **SMALL)
    (tmp_path / 'other').mkdir()
    (tmp_path / 'other' / 'notes.txt').write_text('mine')
    with pytest.raises(FileExistsError, match='no generated shapes dataset'):
        generate_shapes(tmp_path / 'other', **SMALL)


def test_a_failure_leaves_nothing_behind(tmp_path, monkeypatch):

    def fail(size, rng):
        raise RuntimeError('no paint left')

    monkeypatch.setattr(shapes, 'draw_sample', fail)
    with pytest.raises(RuntimeError, match='no paint left'):
        generate_shapes(tmp_path / 'shapes', **SMALL)
    assert list(tmp_path.iterdir()) == []


def test_the_slower_of_two_processes_takes_the_others_result(
        tmp_path, monkeypatch):
    root = tmp_path / 'shapes'
    write = shapes._write_dataset

    def overtaken(*args):
        write(*args)
        monkeypatch.setattr(shapes, '_write_dataset', write)
        generate_shapes(root, **SMALL)

    monkeypatch.setattr(shapes, '_write_dataset', overtaken)
    assert generate_shapes(root, **SMALL) == root
    assert [p.name for p in tmp_path.iterdir()] == ['shapes']
    assert len(_files(root)) == 2 * 8 + 3


@pytest.mark.parametrize('name, value', [('num_train', 0), ('num_val', -1),
                                         ('size', 31), ('seed', -1),
                                         ('num_workers', 0), ('size', 48.)])
def test_bad_parameters_are_named(tmp_path, name, value):
    with pytest.raises(ValueError, match=f'{name} must be an integer'):
        generate_shapes(tmp_path / 'shapes', **{**SMALL, name: value})
    assert list(tmp_path.iterdir()) == []


def test_dataset_generates_and_reads(tmp_path):
    dataset = DATASETS.build(
        dict(
            type='ShapesDataset',
            data_root=str(tmp_path / 'shapes'),
            ann_file='ImageSets/Segmentation/val.txt',
            generate=SMALL,
            pipeline=[
                dict(type='mmseg.LoadImageFromFile'),
                dict(type='mmseg.LoadAnnotations'),
            ]))
    assert len(dataset) == 3
    assert dataset.metainfo['classes'] == ('background', *CLASSES)
    assert len(dataset.metainfo['palette']) == len(CLASSES) + 1
    sample = dataset[2]
    image, label = draw_sample(48, np.random.default_rng([7, 1, 2]))
    assert np.array_equal(sample['gt_seg_map'], label)
    assert np.abs(sample['img'][..., ::-1].astype(int) - image).mean() < 10


def test_dataset_needs_a_root_and_data(tmp_path):
    with pytest.raises(ValueError, match='needs `data_root`'):
        ShapesDataset(generate=SMALL)
    with pytest.raises(FileNotFoundError, match='generate=dict'):
        ShapesDataset(data_root=str(tmp_path / 'nowhere'),
                      ann_file='ImageSets/Segmentation/val.txt')


def test_only_the_main_process_generates_and_all_wait(tmp_path, monkeypatch):
    waited = []
    monkeypatch.setattr(shapes, 'barrier', lambda: waited.append(True))
    monkeypatch.setattr(shapes, 'is_main_process', lambda: False)
    root = str(tmp_path / 'shapes')
    ShapesDataset(data_root=root, generate=SMALL, lazy_init=True)
    assert waited and list(tmp_path.iterdir()) == []
    monkeypatch.setattr(shapes, 'is_main_process', lambda: True)
    with pytest.raises(TypeError):
        ShapesDataset(data_root=root, generate=dict(colour='red'))
    assert len(waited) == 2


def test_outlines_fill_about_one_unit():
    for name, outlines in OUTLINES.items():
        extent = max(np.abs(outline).max() for outline in outlines)
        assert 0.7 < extent <= 1.25, name
