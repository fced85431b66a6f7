"""Pictures from saved weights: report, figure, overlay, Grad-CAM."""
import itertools
import runpy
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from digit_runs import digits

from mmseg_spwc.apis import galleries
from mmseg_spwc.apis.galleries import choose_images, make_gallery, segment
from mmseg_spwc.apis.inference import (
    read_image,
    segment_by_step,
    segment_image,
)
from mmseg_spwc.apis.step_model import load_run
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.visualization.runs import compare, load_runs

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope='module')
def run_folder(config_in, tmp_path_factory):
    """A run of two steps, one epoch each."""
    folder = tmp_path_factory.mktemp('report')
    cfg = config_in(folder, **{
        'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
        'train_cfg.max_epochs': 1,
        'schedule.later.train_cfg.max_epochs': 1,
    })
    ContinualRunner(cfg).train()
    (folder / 'config.py').write_text(cfg.pretty_text)
    return Path(cfg.work_dir)


@pytest.fixture(scope='module')
def comparison(run_folder):
    runs, _ = load_runs([run_folder])
    return compare(runs)[0]


@pytest.fixture
def tool(monkeypatch, capsys):
    """Call a tool as the command line does, in this process."""

    def call(path, *arguments):
        monkeypatch.setattr(sys, 'argv', [path, *map(str, arguments)])
        try:
            code = runpy.run_path(str(ROOT / path))['main']()
        except SystemExit as stopped:
            code = stopped.code
        return code, capsys.readouterr()

    return call


def test_gallery_shows_truth_and_prediction(comparison, shapes_root):
    from PIL import Image
    gallery = make_gallery(comparison, 3)
    assert gallery.missing == [] and len(gallery.pictures) == 3
    assert gallery.classes[0] == 'background' and len(gallery.classes) == 11
    picture = gallery.pictures[0]
    stem = Path(picture.name).name
    mask = np.array(Image.open(shapes_root / f'SegmentationClass/{stem}.png'))
    assert (picture.truth == mask).all()
    image = np.array(Image.open(shapes_root / f'JPEGImages/{stem}.jpg'))
    assert np.abs(picture.image.astype(int) - image).max() <= 2  # decoders
    assert set(picture.predictions) == {'g0'}


def test_chosen_images_show_many_classes(comparison):
    _, dataset = load_run(comparison.runs[0])
    chosen = choose_images(dataset, 4)
    counts = [len(dataset.classes_of(i)) for i in range(len(dataset))]
    assert len(set(chosen)) == 4
    assert counts[dataset.names.index(chosen[0])] == max(counts)
    assert len(choose_images(dataset, 999)) == len(dataset)


def seen_at_will(monkeypatch, first=0):
    """Let both networks agree, but for one row more in every image."""
    rows = itertools.count(first)

    def predicted(loaded, sample):
        labels = np.zeros((48, 48), int)
        if loaded.step:
            labels[:next(rows)] = 7
        return labels

    monkeypatch.setattr(galleries, '_predicted', predicted)


def test_the_images_that_changed_most_come_first(comparison, monkeypatch):
    seen_at_will(monkeypatch)
    changes = galleries.find_changes(comparison.runs[0], 100)
    shares = [(c.before != c.after).any(-1).mean() for c in changes]
    assert shares == pytest.approx([i / 48 for i in range(23, 0, -1)])
    assert len(galleries.find_changes(comparison.runs[0], 2)) == 2


def test_changed_images_of_a_classifier_are_told_by_name(tmp_path):
    cfg = digits(tmp_path / 'run', **{'train_cfg.max_epochs': 1})
    cfg.scenario = dict(problem='classification', dataset='digits',
                        kind='class', steps=[[3, 1, 4], [0, 5]],
                        num_classes=10, partial=True)
    ContinualRunner(cfg).train()
    runs, _ = load_runs([cfg.work_dir])
    change = galleries.find_changes(runs[0], 1)[0]
    assert change.image.shape == (32, 32, 3)
    assert change.before in '314' and change.truth in '314'
    assert change.after != change.before


def test_an_image_file_is_segmented_as_the_test_did(comparison, shapes_root):
    loaded, dataset = load_run(comparison.runs[0])
    name = dataset.names[0]
    _, _, expected = segment(loaded, dataset, name)
    image = read_image(shapes_root / f'{name}.jpg')
    assert (segment_image(loaded, image) == expected).all()
    # and a resized one comes back in its own size
    assert segment_image(loaded, image, 64).shape == expected.shape


def test_missing_weights_are_told(run_folder, tmp_path):
    shutil.copy(run_folder / 'record.json', tmp_path)
    runs, _ = load_runs([tmp_path])
    gallery = make_gallery(compare(runs)[0], 2)
    assert gallery.pictures == []
    assert 'There is no checkpoint' in gallery.missing[0]


def test_missing_data_are_told_and_not_made(run_folder, tmp_path, shapes_root):
    shutil.copytree(run_folder, tmp_path / 'run')
    record = tmp_path / 'run/record.json'
    record.write_text(record.read_text().replace(
        str(shapes_root), str(tmp_path / 'away')))
    runs, _ = load_runs([tmp_path / 'run'])
    gallery = make_gallery(compare(runs)[0], 2)
    assert 'its data are not at' in gallery.missing[0]
    assert not (tmp_path / 'away').exists()


def test_report_and_figure(tool, run_folder, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        seen_at_will(patch, 1)
        _report(tool, run_folder, tmp_path)
    code, _ = tool('tools/analysis_tools/plot.py', 'qualitative', run_folder,
                   '-o', tmp_path / 'q', '--images', 1)
    assert code == 0
    assert (tmp_path / 'q.pdf').stat().st_size > 1000


def _report(tool, run_folder, tmp_path):
    page = tmp_path / 'r.html'
    code, said = tool('tools/report.py', run_folder, '-o', page,
                      '--images', 1)
    assert code == 0
    assert f'report: {page}' in said.out
    assert 'highest mIoU after the last step' in said.out
    text = page.read_text()
    assert text.count('<img ') == 7 and 'after of test image 1' in text


def test_demo(tool, run_folder, tmp_path, shapes_root):
    image = next((shapes_root / 'JPEGImages').glob('val*.jpg'))
    parts = [run_folder.parent / 'config.py', run_folder / 'step_01/final.pth']
    code, _ = tool('tools/demo.py', *parts, image, '-o', tmp_path / 'd.png')
    assert code == 0
    assert (tmp_path / 'd.png').read_bytes()[:4] == b'\x89PNG'
    code, said = tool('tools/demo.py', *parts, 'none.jpg')
    assert code == 2 and 'no image at none.jpg' in said.err


def test_predictions_of_a_folder(tool, run_folder, tmp_path, shapes_root):
    for i, path in enumerate(sorted((shapes_root / 'JPEGImages').glob(
            'val*.jpg'))[:2]):
        (tmp_path / 'in' / f'{i}').mkdir(parents=True)
        shutil.copy(path, tmp_path / f'in/{i}/a.jpg')
    out = tmp_path / 'out'
    code, said = tool('tools/predict.py', run_folder, tmp_path / 'in',
                      tmp_path / 'in/1/a.jpg', '--step', 0, '-o', out)
    assert code == 0
    assert sorted(p.relative_to(out).as_posix() for p in out.rglob('*.png')
                  ) == ['0/a.png', '1/a.png', 'a.png']
    assert said.out.splitlines()[0].startswith(f'{out}/0/a.png: background ')
    code, said = tool('tools/predict.py', run_folder, out.parent / 'none')
    assert code == 2 and 'no image at' in said.err
    code, said = tool('tools/predict.py', run_folder, tmp_path, '--step', 7)
    assert code == 2 and 'no finished step 7' in said.err


def test_steps_behind_each_other(tool, run_folder, tmp_path, shapes_root):
    image = next((shapes_root / 'JPEGImages').glob('val*.jpg'))
    page = tmp_path / 's.html'
    code, _ = tool('tools/demo_steps.py', run_folder, image, '-o', page)
    assert code == 0
    text = page.read_text()
    assert text.count('class="frame"') == 2
    assert 'max="1"' in text and text.count('data:image/') == 3
    runs, _ = load_runs([run_folder])
    views = segment_by_step(runs[0], read_image(image))
    assert [len(view.classes) for view in views] == [6, 11]


def test_grad_cam(tool, run_folder, tmp_path):
    pytest.importorskip('pytorch_grad_cam')
    code, _ = tool('tools/analysis_tools/grad_cam.py', run_folder, '-o',
                   tmp_path / 'cam', '--images', 1)
    assert code == 0
    assert (tmp_path / 'cam.png').stat().st_size > 1000
    code, said = tool('tools/analysis_tools/grad_cam.py', run_folder,
                      '--layer', 'backbone.none')
    assert code == 2 and 'no layer' in said.err
