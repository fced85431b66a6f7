"""The page that shows what every step would train on."""
import numpy as np
import pytest
from digit_runs import digits
from mmengine.config import Config
from PIL import Image
from scripts import load

from mmseg_spwc.labels import VOID
from mmseg_spwc.visualization.gallery import Gallery

tool = load('tools/misc/browse.py')
browse, hatched = tool.browse, tool.hatched


def sections(page):
    return page.split('<section')[1:]


def rows(section):
    return [tuple(cell.rpartition('>')[2]
                  for cell in row.partition('</tr')[0].split('</t')[:-1])
            for row in section.split('<tr')[2:]]


def test_old_classes_become_background_and_void_is_hatched(tiny_config):
    page = browse(tiny_config(), count=3)
    first, second, third = sections(page)
    assert 'Step 1 learns ring, cross, crescent' in second
    assert first.count('<img') == 6
    found = {row[0]: row[2:4] for row in rows(second)}
    assert found['1'] == ('disc', 'background')
    assert found['5'] == ('ring', 'ring')
    assert found['0'] == ('background', 'background')
    assert 'not counted (hatched)' in page or VOID not in map(int, found)


def test_void_has_stripes():
    painted = hatched(Gallery(['background'], [[1, 2, 3]]),
                      np.array([[0, VOID] * 4]))
    assert painted[0, 0].tolist() == [1, 2, 3]
    assert {64, 192} == {int(p[0]) for p in painted[0, 1::2]}


@pytest.fixture
def own_data(tiny_config, tmp_path):
    """A second step with masks of its own values, one of them unnamed."""
    rng = np.random.default_rng(0)
    for i in range(4):
        for folder, array in (
                ('images', rng.integers(0, 255, (48, 48, 3), np.uint8)),
                ('masks', np.full((48, 48), 7, np.uint8))):
            (tmp_path / 'own' / folder).mkdir(parents=True, exist_ok=True)
            if folder == 'masks':
                array[:4] = 255
                array[4:9] = 3 if i else 7
            Image.fromarray(array).save(
                tmp_path / 'own' / folder / f'{i}.png')
    cfg = tiny_config()
    cfg.total_batch_size = 2
    train = dict(img_suffix='.png', data_prefix=dict(
        img_path='images', seg_map_path='masks'))
    cfg.scenario = dict(dataset='mine', steps=[
        dict(classes=['disc', 'square']),
        dict(classes=['pole', 'sign'], data=dict(
            data_root=str(tmp_path / 'own'), train=train, test=train,
            labels=dict(pole=7, sign=9)))])
    return cfg


def test_values_that_no_class_names_are_shown(own_data):
    _, second = sections(browse(own_data))
    assert ('3', '3', 'nothing: no class has this value', '') in rows(second)
    assert ('7', '4', 'pole', 'pole') in rows(second)
    assert 'holds the label 3' in second  # what training would say


def test_classes_that_no_image_shows_are_named(own_data):
    own_data.scenario.steps[1].data.labels.background = [0, 3]
    _, second = sections(browse(own_data))
    assert 'No training image shows sign.' in second
    assert ('3', '3', 'background', 'background') in rows(second)


def test_images_of_a_classifier_have_names(tmp_path):
    cfg = digits(tmp_path)
    cfg.scenario = Config(dict(s=dict(
        problem='classification', dataset='digits', kind='class',
        steps=[[3, 1], [0, 5]], num_classes=10, partial=True))).s
    first, second = sections(browse(cfg, count=4))
    assert 'Step 1 learns 0, 5' in second
    assert second.count('<img') == 4 and '<figcaption>5<' in second
    found = {row[0]: row[2] for row in rows(second)}
    assert found['5'] == '5' and found['7'] == 'left out of this step'
