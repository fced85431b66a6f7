"""Report, figures, demo and Grad-CAM of a classification."""
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from digit_runs import digits, train
from scripts import load

from mmseg_spwc.apis.galleries import make_gallery
from mmseg_spwc.apis.inference import classify_image
from mmseg_spwc.apis.step_model import load_run
from mmseg_spwc.visualization.figures import FIGURES
from mmseg_spwc.visualization.report import render
from mmseg_spwc.visualization.runs import compare, load_runs
from mmseg_spwc.visualization.step_report import next_weights


@pytest.fixture(scope='module')
def runs(tmp_path_factory):
    """A small convolutional network on two tasks."""
    folder = tmp_path_factory.mktemp('cls') / 'run'
    cfg = digits(folder, 'ewc', **{
        'scenario.name': '2', 'train_cfg.max_epochs': 1,
        'model.backbone': dict(
            _delete_=True, type='mmseg_spwc.SmallVGG', in_channels=1,
            image_size=32, stages=((4, ), (8, )), hidden=(24, )),
    })
    train(cfg)
    return load_runs([folder])[0]


def test_page_and_figures(runs):
    comparison, = compare(runs)
    gallery = make_gallery(comparison, 2)
    text = render([comparison], {comparison.title: gallery})
    assert 'Images are shown for segmentation only.' in text
    assert 'permuted_digits' in text and 'Avg-APA' in text
    for name in ('apa_acf', 'ps_by_task', 'importance_error', 'convergence'):
        assert FIGURES[name](comparison).axes


@pytest.mark.parametrize('task', [0, 1])
def test_an_image_file_is_scored_as_the_test_did(runs, task):
    loaded, dataset = load_run(runs[0])
    place = int(torch.nonzero(dataset.tasks == task)[3])
    sample = dataset[place]
    expected = loaded.model.test_step(
        dict(inputs=[sample['inputs']],
             data_samples=[sample['data_samples']]))[0].pred_score
    grey = dataset.source.images[int(dataset.image_ids[place])][0].numpy()
    image = np.repeat(grey[..., None], 3, 2)
    scores = dict(classify_image(loaded, image, task=task))
    assert [scores[name] for name in loaded.classes] == pytest.approx(
        expected.tolist(), abs=1e-5)


def test_easy_and_hard_tasks(runs):
    pytest.importorskip('pytorch_grad_cam')
    tool = load('tools/analysis_tools/grad_cam.py')
    easy, hard = tool.easiest_and_hardest(runs[0].record)
    psi = runs[0].record.steps[-1]['kpi']['step']
    assert (easy.psi, hard.psi) == (max(psi), min(psi))
    rows = tool.cam_rows(runs[0], 1)
    image, cam = rows[0].cells[0]
    assert image.shape == (32, 32, 3) and cam.shape == (32, 32)
    assert cam.min() >= 0 and cam.max() <= 1


def test_demo(runs, tmp_path, monkeypatch, capsys):
    import runpy
    root = Path(__file__).resolve().parents[2]
    cv2.imwrite(str(tmp_path / 'i.png'), np.zeros((50, 40, 3), np.uint8))
    monkeypatch.setattr(sys, 'argv', [
        'demo', str(runs[0].folder / 'record.json'),
        str(runs[0].folder / 'step_01/final.pth'), str(tmp_path / 'i.png'),
        '--size', '32', '-o', str(tmp_path / 'o.png')])
    assert runpy.run_path(str(root / 'tools/demo.py'))['main']() == 0
    assert capsys.readouterr().out.count('%') == 5
    assert (tmp_path / 'o.png').stat().st_size > 1000


def test_the_forecast_of_a_step_is_what_the_next_one_decides(tmp_path):
    record = train(digits(tmp_path / 'run', 'ewc-spwc', **{
        'train_cfg.max_epochs': 1}))
    for step in (0, 1):
        v = record.step(step + 1)['priority']['v']
        found = [weight for _, weight in next_weights(record, step)]
        assert found == v
