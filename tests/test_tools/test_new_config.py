"""A folder that nobody has told us about."""
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from mmengine.config import Config
from PIL import Image
from scripts import ROOT, load

from mmseg_spwc.errors import ConfigError

TOOL = load('tools/misc/new_config.py')
draft, survey, table = TOOL.draft, TOOL.survey, TOOL.table


def save(path: Path, array: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(array).save(path)


def folder(root: Path, masks: list, image: str = '{}_leftImg8bit.png',
           mask: str = '{}_gtFine_labelIds.png') -> tuple[Path, Path]:
    for i, values in enumerate(masks):
        name = f'town/{i:02d}1'  # every name ends in 1
        shape = np.shape(values)[:2]
        save(root / 'images' / image.format(name),
             np.zeros((*shape, 3), np.uint8))
        save(root / 'masks' / mask.format(name), np.array(values, np.uint8))
    return root / 'images', root / 'masks'


def test_values_sizes_and_endings_are_found(tmp_path):
    found = survey(*folder(tmp_path, [
        [[0, 0, 7], [0, 7, 255]], [[0, 0, 0], [0, 7, 9]],
        [[0, 0, 0, 0], [9, 9, 9, 9]]]))
    assert found.pairs == 3 and found.sides == (2, 4)
    assert found.in_images == {0: 3, 7: 2, 9: 2, 255: 1}
    assert found.pixels[9] == pytest.approx(5 / 20)
    assert found.image_suffix == '_leftImg8bit.png'
    assert found.mask_suffix == '_gtFine_labelIds.png'
    assert found.background == 0
    assert found.classes == {'class_7': 7, 'class_9': 9}
    assert re.search(r'255 +1 +5.0% +void', table(found))
    assert re.search(r'\n    0 +3 .*background', table(found))


def test_zero_is_a_class_where_few_images_show_it(tmp_path):
    found = survey(*folder(tmp_path, [[[1, 2]], [[1, 0]], [[2, 2]]]))
    assert found.classes == {'class_0': 0, 'class_1': 1, 'class_2': 2}


def test_another_value_that_covers_most_is_a_background(tmp_path):
    found = survey(*folder(tmp_path, [[[7, 200, 200]], [[200, 200, 200]]]))
    assert found.background == 200 and found.classes == {'class_7': 7}
    assert re.search(r'200 +2 .*background', table(found))


def test_plain_names_keep_the_suffix_alone(tmp_path):
    found = survey(*folder(tmp_path, [[[1]], [[2]]], '{}.jpg', '{}.png'))
    assert (found.image_suffix, found.mask_suffix) == ('.jpg', '.png')


def test_images_without_a_mask_are_named(tmp_path):
    images, masks = folder(tmp_path, [[[1]], [[2]]], '{}.jpg', '{}.png')
    save(images / 'extra.jpg', np.zeros((4, 4, 3), np.uint8))
    assert 'left out: extra.jpg' in table(survey(images, masks))


def written(found, path: Path, *given) -> Config:
    path.write_text(draft(found, path, *given))
    return Config.fromfile(path)


def base(folder: Path) -> Path:
    """A config of plain mmseg, as far as it matters here."""
    path = folder / 'base.py'
    path.write_text(
        "train_cfg = dict(type='IterBasedTrainLoop', max_iters=1000)\n"
        "optim_wrapper = dict(optimizer=dict(type='SGD', lr=0.01))\n")
    return path


def test_the_draft_is_a_config_that_names_every_value(tmp_path):
    found = survey(*folder(tmp_path, [[[0, 0, 7, 255]], [[0]]]))
    cfg = written(found, tmp_path / 'c.py', base(tmp_path), 'model.pth')
    step = cfg.scenario.steps[1]
    assert step.classes == ['class_7']
    assert step.data.labels == dict(class_7=7, background=0, void=255)
    assert step.data.train.img_suffix == '_leftImg8bit.png'
    assert step.data.train.ann_file == str(tmp_path / 'c_train.txt')
    assert cfg.schedule.later.train_cfg.max_iters == 500
    assert cfg.schedule.later.optim_wrapper.optimizer.lr == 0.005
    assert cfg.start_from == str(Path('model.pth').absolute())
    assert cfg.method.name == 'MiB' and cfg.work_dir == 'work_dirs/c'


def test_what_is_not_known_is_to_be_filled_in(tmp_path):
    text = draft(survey(*folder(tmp_path, [[[0, 1]], [[0, 0]]])), 'c.py')
    assert text.count('FILL IN') == 4


def test_a_further_step_is_added_to_a_config(tmp_path):
    given = base(tmp_path)
    written(survey(*folder(tmp_path / 'a', [[[0, 7]], [[0, 0]]])),
            tmp_path / 'a.py', given, 'model.pth')
    cfg = written(survey(*folder(tmp_path / 'b', [[[3, 1]], [[3, 3]]])),
                  tmp_path / 'b.py', tmp_path / 'a.py')
    assert [step['classes'] for step in cfg.scenario.steps] == [
        'start_from', ['class_7'], ['class_1']]
    folders = [step.data.train.data_prefix.img_path
               for step in cfg.scenario.steps[1:]]
    assert folders == [str(tmp_path / name / 'images') for name in 'ab']
    assert cfg.work_dir == 'work_dirs/a'


def test_names_of_files_are_no_part_of_the_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trap = "', open('sprung', 'w'), '"
    images, masks = folder(tmp_path / trap, [[[0]], [[1]]],
                           '{}_' + trap + '.png', "{}_'.png")
    save(images / '\x1b[2J.png', np.zeros((4, 4, 3), np.uint8))
    with pytest.raises(ConfigError, match=r'\\x1b\[2J.png'):
        survey(images, masks / 'town')
    (images / '\x1b[2J.png').unlink()
    step = written(survey(images, masks), tmp_path / 'c.py',
                   base(tmp_path)).scenario.steps[1].data.train
    assert not (tmp_path / 'sprung').exists()
    assert step.data_prefix == dict(img_path=str(images),
                                    seg_map_path=str(masks))
    assert (step.img_suffix, step.seg_map_suffix) == (f'_{trap}.png', "_'.png")


@pytest.mark.parametrize('content', [b'', b'no image'])
def test_a_broken_image_gets_a_sentence(content, tmp_path):
    images, masks = folder(tmp_path, [[[1]], [[2]]], '{}.jpg', '{}.png')
    (images / 'town/011.jpg').write_bytes(content)
    with pytest.raises(ConfigError, match='011.jpg cannot be read as an im'):
        survey(images, masks)


@pytest.mark.parametrize('array, message', [
    (np.zeros((2, 2, 3), np.uint8), 'picture in colour'),
    (np.full((2, 2), 300, np.uint16), 'values from 300 to 300'),
])
def test_what_is_no_mask_is_refused(tmp_path, array, message):
    images, masks = folder(tmp_path, [[[1]]], '{}.jpg', '{}.png')
    Image.fromarray(array).save(masks / 'town/001.png')
    with pytest.raises(ConfigError, match=message):
        survey(images, masks)


def test_folders_that_do_not_belong_together_are_shown(tmp_path):
    images, masks = folder(tmp_path, [[[1]]], '{}.jpg', '{}.png')
    (masks / 'town/001.png').rename(masks / 'other.png')
    with pytest.raises(ConfigError, match='No image has a mask.*other.png'):
        survey(images, masks)
    with pytest.raises(ConfigError, match='holds no file'):
        survey(images, tmp_path / 'nowhere')


def test_the_command_does_not_overwrite(tmp_path):
    images, masks = folder(tmp_path, [[[0, 1]], [[0, 0]]])
    out = tmp_path / 'mine.py'
    run = [sys.executable, ROOT / 'tools/misc/new_config.py', images, masks,
           '-o', out]
    subprocess.run(run, check=True, capture_output=True)
    assert 'class_1' in out.read_text()
    assert (tmp_path / 'mine_test.txt').read_text() == 'town/001\n'
    assert (tmp_path / 'mine_train.txt').read_text() == 'town/011\n'
    out.unlink()  # the lists are kept as well
    again = subprocess.run(run, capture_output=True, text=True)
    assert again.returncode == 2 and 'is there already' in again.stderr
