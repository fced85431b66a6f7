import builtins
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat
from scripts import load as load_script

FOLDER = Path(__file__).parents[2] / 'tools' / 'dataset_converters'


@pytest.fixture
def load(monkeypatch):
    """Import a script as it is run: with its own folder on the path."""
    monkeypatch.syspath_prepend(str(FOLDER))

    yield lambda name: load_script(f'tools/dataset_converters/{name}.py')
    sys.modules.pop('check_layout', None)


def _save(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(array, np.uint8)).save(path)


def _image(path, height=4, width=6):
    _save(path, np.zeros((height, width, 3)))


# ---------------------------------------------------------------- the checks


def test_problems_are_found_and_told(load, tmp_path, capsys):
    layout = load('check_layout')
    pairs = [(tmp_path / f'{n}.jpg', tmp_path / f'{n}.png') for n in 'abcde']
    for image, _ in pairs[:4]:
        _image(image)
    _save(pairs[0][1], np.full((4, 6), 3))
    _save(pairs[1][1], np.full((4, 6), 77))
    _save(pairs[2][1], np.zeros((6, 4)))
    _save(pairs[3][1], np.zeros((4, 6, 3)))
    problems = layout.find_problems(pairs, {0, 3, 255})
    assert len(problems) == 5
    assert 'b.png holds the values [77]' in problems[0]
    assert 'c.png is 4 x 6 pixels, its image 6 x 4' in problems[1]
    assert 'd.png has mode RGB' in problems[2]
    assert problems[3].endswith('e.jpg is missing')
    assert problems[4].endswith('e.png is missing')
    assert layout.report(problems + ['one', 'two']) == 1
    assert '2 more problems' in capsys.readouterr().out
    assert layout.report([]) == 0
    assert 'Ready to use' in capsys.readouterr().out


def test_a_broken_file_is_a_problem_not_a_crash(load, tmp_path):
    layout = load('check_layout')
    _image(tmp_path / 'a.jpg')
    (tmp_path / 'a.png').write_bytes(b'no picture')
    found = layout.find_problems([(tmp_path / 'a.jpg', tmp_path / 'a.png')],
                                 {0})
    assert len(found) == 1 and 'a.png' in found[0]


def test_label_values_are_those_of_the_pixels(load, tmp_path):
    labels = np.random.default_rng(0).choice([0, 1, 20, 254, 255], (9, 9))
    _save(tmp_path / 'grey.png', labels)
    palette = Image.fromarray(labels.astype(np.uint8))
    palette.putpalette([0] * 768)
    palette.save(tmp_path / 'palette.png')
    layout = load('check_layout')
    expected = {int(value) for row in labels for value in row}
    assert layout.label_values(tmp_path / 'grey.png') == expected
    assert layout.label_values(tmp_path / 'palette.png') == expected


def test_counts_are_compared_with_the_published(load):
    layout = load('check_layout')
    assert layout.count_line('val', 500, 500) == 'val: 500 samples'
    assert 'complete dataset has 500' in layout.count_line('val', 3, 500)


# ---------------------------------------------------------------- VOC and SBD


def _mat(path, labels):
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, {'GTcls': {
        'Boundaries': np.zeros((20, 1), object),
        'Segmentation': np.asarray(labels, np.uint8),
        'CategoriesPresent': np.unique(labels)[1:, None],
    }})


@pytest.fixture
def voc(tmp_path):
    """Four VOC images, and SBD annotations of three of them."""
    root, sbd = tmp_path / 'VOC2012', tmp_path / 'benchmark_RELEASE'
    names = ['2007_1', '2007_2', '2008_3', '2008_4']
    for name in names:
        _image(root / f'JPEGImages/{name}.jpg')
    for split, name in dict(train='2007_1', val='2007_2').items():
        _save(root / f'SegmentationClass/{name}.png', np.full((4, 6), 255))
        lists = root / 'ImageSets/Segmentation'
        lists.mkdir(parents=True, exist_ok=True)
        (lists / f'{split}.txt').write_text(f'{name}\n\n')
    labels = np.arange(24).reshape(4, 6) % 21
    for name in names[1:]:
        _mat(sbd / f'dataset/cls/{name}.mat', labels)
    (sbd / 'dataset/train.txt').write_text('2008_4\n2007_2\n')
    (sbd / 'dataset/val.txt').write_text('2008_3\n')
    return root, sbd, labels


@pytest.mark.parametrize('inner', ['', 'dataset'])
def test_sbd_becomes_label_maps_and_a_list(load, voc, inner, capsys):
    root, sbd, labels = voc
    assert load('voc_aug').main([str(root), '--sbd', str(sbd / inner)]) == 0
    written = sorted((root / 'SegmentationClassAug').iterdir())
    assert [p.name for p in written] == ['2008_3.png', '2008_4.png']
    mask = Image.open(written[0])
    assert mask.mode == 'P'
    assert np.array_equal(np.asarray(mask), labels)
    aug = root / 'ImageSets/Segmentation/aug.txt'
    assert aug.read_text() == '2008_3\n2008_4\n'
    assert 'complete dataset has 9118' in capsys.readouterr().out


def test_without_sbd_voc_is_only_checked(load, voc, capsys):
    root = voc[0]
    assert load('voc_aug').main([str(root)]) == 1
    assert 'aug.txt is missing; make it with --sbd' in capsys.readouterr().out
    assert not (root / 'SegmentationClassAug').exists()


def test_no_list_is_left_by_a_failed_conversion(load, voc):
    root, sbd, _ = voc
    (sbd / 'dataset/cls/2008_4.mat').unlink()
    with pytest.raises(FileNotFoundError):
        load('voc_aug').convert_sbd(root, sbd)
    assert not (root / 'ImageSets/Segmentation/aug.txt').exists()


def test_wrong_folders_are_told(load, tmp_path, capsys):
    with pytest.raises(FileNotFoundError, match='data/README.md'):
        load('voc_aug').convert_sbd(tmp_path, tmp_path)
    assert load('voc_aug').main([str(tmp_path)]) == 1
    assert load('ade20k').main([str(tmp_path)]) == 1
    assert load('cityscapes').main([str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert 'ROOT is the folder ADEChallengeData2016' in told
    assert 'ROOT holds leftImg8bit and gtFine' in told


def test_missing_scipy_is_told(load, monkeypatch, tmp_path):
    real = builtins.__import__

    def without_scipy(name, *args, **kwargs):
        if name.startswith('scipy'):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    script = load('voc_aug')
    monkeypatch.setattr(builtins, '__import__', without_scipy)
    with pytest.raises(ImportError, match='pip install scipy'):
        script.read_sbd_mask(tmp_path / 'a.mat')


def test_voc_colours_are_the_published_ones(load):
    colours = load('voc_aug').voc_palette()
    assert colours.shape == (256, 3)
    published = {0: (0, 0, 0), 1: (128, 0, 0), 2: (0, 128, 0),
                 3: (128, 128, 0), 4: (0, 0, 128), 8: (64, 0, 0),
                 15: (192, 128, 128), 20: (0, 64, 128), 255: (224, 224, 192)}
    for label, colour in published.items():
        assert tuple(colours[label].tolist()) == colour


# --------------------------------------------------------------------- ADE20K


def test_ade_is_checked(load, tmp_path, capsys):
    for split in ('training', 'validation'):
        _image(tmp_path / f'images/{split}/ADE_1.jpg')
        _save(tmp_path / f'annotations/{split}/ADE_1.png',
              np.tile([0, 150], (4, 3)))
    script = load('ade20k')
    assert script.main([str(tmp_path)]) == 0
    assert 'complete dataset has 20210' in capsys.readouterr().out
    _save(tmp_path / 'annotations/validation/ADE_1.png', np.full((4, 6), 151))
    _save(tmp_path / 'annotations/validation/ADE_2.png', np.zeros((4, 6)))
    problems = script.check(tmp_path)
    assert len(problems) == 2
    assert 'holds the values [151]' in problems[0]
    assert problems[1].endswith('ADE_2.jpg is missing')


# ----------------------------------------------------------------- Cityscapes


def _polygons(*objects):
    return dict(imgWidth=12, imgHeight=8, objects=[
        dict(label=label, polygon=polygon, **extra)
        for label, polygon, extra in objects])


def _box(x0, y0, x1, y1):
    return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]


def test_table_of_train_ids_is_the_official_one(load):
    table = load('cityscapes').TRAIN_IDS
    # the 19 evaluated classes in the order of the benchmark's result table
    evaluated = ('road sidewalk building wall fence pole traffic_light '
                 'traffic_sign vegetation terrain sky person rider car truck '
                 'bus train motorcycle bicycle').replace('_', '-').split()
    by_train_id = {t: n for n, t in table.items() if t not in (None, 255)}
    assert [by_train_id[t].replace(' ', '-') for t in range(19)] == evaluated
    assert sum(t == 255 for t in table.values()) == 15
    assert [n for n, t in table.items() if t is None] == ['license plate']


def test_polygons_are_drawn_in_order(load):
    script = load('cityscapes')
    mask = np.asarray(script.draw_polygons(_polygons(
        ('road', _box(0, 4, 11, 7), {}),
        ('car', _box(2, 2, 6, 5), {}),
        ('license plate', _box(3, 4, 5, 5), {}),
        ('persongroup', _box(9, 0, 10, 4), {}),
        ('polegroup', _box(0, 0, 1, 1), {}),
        ('sky', _box(0, 0, 11, 7), dict(deleted=1)))))
    expected = np.full((8, 12), 255)
    for y in range(8):
        for x in range(12):
            if y >= 4:
                expected[y, x] = 0
            if 2 <= x <= 6 and 2 <= y <= 5:
                expected[y, x] = 13
            if 9 <= x <= 10 and y <= 4:
                expected[y, x] = 11
    assert np.array_equal(mask, expected)


def test_an_unknown_label_is_told(load):
    with pytest.raises(KeyError, match='spaceship'):
        load('cityscapes').train_id('spaceship')
    with pytest.raises(KeyError, match='not a Cityscapes label'):
        load('cityscapes').train_id('spaceshipgroup')


def test_missing_label_maps_are_drawn_and_others_kept(load, tmp_path, capsys):
    for split, city in dict(train='ulm', val='munster', test='bonn').items():
        stem = f'{split}/{city}/{city}_000000_000019'
        _image(tmp_path / f'leftImg8bit/{stem}_leftImg8bit.png', 8, 12)
        path = tmp_path / f'gtFine/{stem}_gtFine_polygons.json'
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(_polygons(('sky', _box(0, 0, 3, 3), {}))))
    kept = tmp_path / ('gtFine/val/munster/munster_000000_000019_gtFine_'
                       'labelTrainIds.png')
    _save(kept, np.full((8, 12), 18))
    script = load('cityscapes')
    assert script.main([str(tmp_path)]) == 0
    assert '1 label maps drawn' in capsys.readouterr().out
    assert np.all(np.asarray(Image.open(kept)) == 18)
    drawn = [p.parent.name for p in tmp_path.rglob('*_labelTrainIds.png')]
    assert sorted(drawn) == ['munster', 'ulm']
    assert not list(tmp_path.rglob('*.partial'))
    assert script.main([str(tmp_path)]) == 0
    assert '0 label maps drawn' in capsys.readouterr().out
    _save(kept, np.full((8, 12), 33))  # ids where train ids should be
    assert script.main([str(tmp_path)]) == 1


# ------------------------------------------------------------ as they are run


@pytest.mark.parametrize('name', ['voc_aug', 'ade20k', 'cityscapes'])
def test_scripts_run_from_anywhere(name, tmp_path):
    script = FOLDER / f'{name}.py'
    told = subprocess.run([sys.executable, str(script), '--help'],
                          cwd=tmp_path, capture_output=True, text=True,
                          check=True).stdout
    assert f'python tools/dataset_converters/{name}.py data/' in told
