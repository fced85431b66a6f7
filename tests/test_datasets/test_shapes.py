import json
import time

import numpy as np
import pytest
from PIL import Image

import mmseg_spwc  # noqa: F401  makes mmseg importable
from mmseg_spwc.datasets import shapes
from mmseg_spwc.datasets.shapes import (
    CLASSES,
    ShapesDataset,
    digest,
    draw_sample,
    generate_shapes,
)
from mmseg_spwc.registry import DATASETS

SMALL = dict(num_train=5, num_val=3, size=48, seed=7)


def _files(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob('*') if path.is_file()
    }


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


def test_bytes_do_not_depend_on_counts(tmp_path):
    one = _files(generate_shapes(tmp_path / 'one', **SMALL))
    assert one == _files(generate_shapes(tmp_path / 'again', **SMALL))
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
    assert generate_shapes(root, **SMALL) == root
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
    with pytest.raises(FileExistsError, match='not a generated shapes'):
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
                                         ('size', 48.)])
def test_bad_parameters_are_named(tmp_path, name, value):
    with pytest.raises(ValueError, match=f'{name} must be an integer'):
        generate_shapes(tmp_path / 'shapes', **{**SMALL, name: value})
    assert list(tmp_path.iterdir()) == []


def test_dataset_generates_and_reads(tmp_path):
    dataset = DATASETS.build(
        dict(
            type='mmseg_spwc.ShapesDataset',
            data_root=str(tmp_path / 'shapes'),
            ann_file='ImageSets/Segmentation/val.txt',
            generate=SMALL,
            pipeline=[
                dict(type='LoadImageFromFile'),
                dict(type='LoadAnnotations'),
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


def test_generation_is_left_to_the_first_rank(tmp_path, monkeypatch):
    asked = []
    root = str(tmp_path / 'shapes')
    with pytest.raises(TypeError):
        ShapesDataset(data_root=root, generate=dict(colour='red'))
    # as on a later rank, where nothing is called
    monkeypatch.setattr(shapes, 'from_first_rank',
                        lambda function, *args, **_: asked.append(function))
    ShapesDataset(data_root=root, generate=SMALL, lazy_init=True)
    assert asked == [shapes.generate_shapes]
    assert list(tmp_path.iterdir()) == []
