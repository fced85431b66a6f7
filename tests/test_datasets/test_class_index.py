"""The class index: one scan, by name, checked."""
import json
import shutil

import numpy as np
import pytest
from PIL import ExifTags, Image

from mmseg_spwc.datasets import class_index
from mmseg_spwc.datasets.class_index import load_class_index


@pytest.fixture
def folder(tmp_path):
    for name, values in dict(a=[0, 3], b=[0, 255], c=[7, 9, 255]).items():
        mask = np.array(values * 4, dtype=np.uint8).reshape(4, -1)
        Image.fromarray(mask).save(tmp_path / f'{name}.png')
        Image.new('RGB', mask.shape[::-1]).save(tmp_path / f'{name}.jpg')
    return tmp_path


def index(folder, names, reduce_zero_label=False):
    infos = [
        dict(
            img_path=str(folder / f'{n}.jpg'),
            seg_map_path=str(folder / f'{n}.png'),
            reduce_zero_label=reduce_zero_label) for n in names
    ]
    return load_class_index(infos, str(folder), str(folder / 'cache'))


def test_values_by_name(folder):
    assert index(folder, 'abc') == dict(
        a={0, 3}, b={0, 255}, c={7, 9, 255})


def test_zero_label_is_reduced_as_mmseg_does(folder):
    assert index(folder, 'ac', reduce_zero_label=True) == dict(
        a={2}, c={6, 8})


def test_second_time_reads_the_stored_scan(folder, monkeypatch):
    first = index(folder, 'abc')
    monkeypatch.setattr(class_index, 'track', None)
    assert index(folder, 'abc') == first
    # the order of the list does not matter
    assert index(folder, 'cab') == first and [*index(folder, 'cab')] == [
        *'cab']


def test_changed_mask_is_scanned_again(folder):
    index(folder, 'abc')
    Image.fromarray(np.full((4, 2), 4, np.uint8)).save(folder / 'a.png')
    assert index(folder, 'abc')['a'] == {4}


def test_changed_image_is_looked_at_again(folder):
    index(folder, 'abc')
    (folder / 'a.jpg').write_bytes(b'no picture')
    with pytest.raises(ValueError, match='a.jpg cannot be read'):
        index(folder, 'abc')


def test_mask_of_another_size_is_refused(folder):
    Image.fromarray(np.zeros((4, 3), np.uint8)).save(folder / 'a.png')
    with pytest.raises(ValueError, match='a.png has 3x4 pixels.*2x4'):
        index(folder, 'abc')


@pytest.mark.parametrize('turned', [True, False])
def test_mask_of_a_turned_image_is_taken(folder, turned):
    """The decoder turns a photograph as its Exif tag says, and no other."""
    Image.fromarray(np.zeros((2, 4), np.uint8)).save(folder / 'a.png')
    if not turned:
        with pytest.raises(ValueError, match='4x2 pixels, its image 2x4'):
            index(folder, 'abc')
        return
    image = Image.open(folder / 'a.jpg')
    image.getexif()[ExifTags.Base.Orientation] = 6
    image.save(folder / 'a.jpg', exif=image.getexif())
    assert index(folder, 'abc')['a'] == {0}


@pytest.mark.parametrize(('values', 'message'), [
    ([[0, 2**31 - 1]], '2147483647, which is no class'), ([[0]], '1x1')])
def test_masks_that_no_dataset_has(folder, values, message):
    """The first would be counted in 16 GiB."""
    image = Image.fromarray(np.int32(values))
    image.save(folder / 'a.tif')
    Image.new('RGB', image.size).save(folder / 'a.jpg')
    (folder / 'a.tif').replace(folder / 'a.png')
    with pytest.raises(ValueError, match=message):
        index(folder, 'abc')


@pytest.mark.parametrize('content', [
    [], {}, dict(classes=3), dict(classes={'a': 'x'}), dict(classes=None)])
def test_a_store_of_the_wrong_kind_is_scanned_again(folder, content):
    first = index(folder, 'abc')
    stored = next((folder / 'cache').glob('*.json'))
    if isinstance(content, dict) and content:
        content['fingerprint'] = json.loads(stored.read_text())['fingerprint']
    stored.write_text(json.dumps(content))
    assert index(folder, 'abc') == first


def test_without_a_store_the_scan_goes_on(folder, monkeypatch):
    (folder / 'cache').write_text('a file, not a folder')
    said = []
    monkeypatch.setattr(class_index, 'warn', said.append)
    assert index(folder, 'abc')['a'] is not None
    assert 'cannot be kept' in said[0] and 'another cache_dir' in said[0]


def test_broken_store_is_scanned_again(folder):
    first = index(folder, 'abc')
    stored = next((folder / 'cache').glob('*.json'))
    stored.write_text('{"half')
    assert index(folder, 'abc') == first
    assert json.loads(stored.read_text())['version'] == class_index.VERSION


@pytest.mark.parametrize('name, what', [('a.png', 'mask'), ('b.jpg', 'image')])
def test_missing_file_is_named(folder, name, what):
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=f'1 of 3 {what}.*{name}'):
        index(folder, 'abc')


def test_colour_mask_is_refused(folder):
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(folder / 'a.png')
    with pytest.raises(ValueError, match=r'a.png holds uint8 of .*4, 3\)'):
        index(folder, 'abc')


def test_broken_mask_is_named(folder):
    (folder / 'a.png').write_bytes(b'no picture')
    with pytest.raises(ValueError, match='a.png cannot be read'):
        index(folder, 'abc')


def test_image_listed_twice_is_refused(folder):
    with pytest.raises(ValueError, match='The image a is listed twice'):
        index(folder, 'aba')


def test_names_do_not_depend_on_the_place(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp('other') / 'data'
    shutil.copytree(folder, other)
    assert index(folder, 'abc') == index(other, 'abc')
