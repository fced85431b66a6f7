"""Steps that bring data of their own: folders with other label values."""
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from digit_runs import digits
from PIL import Image

from mmseg_spwc.config.step import scenario_of, step_config
from mmseg_spwc.datasets.continual_seg import ContinualSegDataset
from mmseg_spwc.datasets.shapes import ShapesDataset
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.problems import (
    classification_problem,
    problem_of,
    segmentation_problem,
)
from mmseg_spwc.record import Record
from mmseg_spwc.registry import DATASETS
from mmseg_spwc.scenario import build_scenario

NAMES = ShapesDataset.METAINFO['classes']
BASE = dict(classes=list(NAMES[1:5]))


@pytest.fixture(scope='module')
def poles(shapes_root, tmp_path_factory):
    """Images with arrows, 7 in their masks, or squares, 200 there."""
    root = tmp_path_factory.mktemp('poles')
    for split, name in (('train', 'train'), ('test', 'val')):
        listed = shapes_root / f'ImageSets/Segmentation/{name}.txt'
        for image in listed.read_text().split():
            mask = np.array(Image.open(
                shapes_root / f'SegmentationClass/{image}.png'))
            if not np.isin(mask, (2, 9)).any():
                continue
            for kind in ('images', 'masks'):
                (root / kind / split).mkdir(parents=True, exist_ok=True)
            own = np.where(mask == 9, 7, np.where(mask == 2, 200, 0))
            Image.fromarray(own.astype(np.uint8)).save(
                root / f'masks/{split}/{image}.png')
            shutil.copy(shapes_root / f'JPEGImages/{image}.jpg',
                        root / f'images/{split}')
    return root


def own(root, labels, **options):
    """The data of a step, as a config has them."""
    return dict(data_root=str(root), labels=labels, **{
        split: dict(data_prefix=dict(img_path=f'images/{split}',
                                     seg_map_path=f'masks/{split}'))
        for split in ('train', 'test')}, **options)


def with_steps(cfg, *steps):
    cfg.scenario = dict(dataset='mine', steps=list(steps))
    return cfg


def built(cfg, step, loader='train_dataloader'):
    return DATASETS.build(
        step_config(cfg, scenario_of(cfg), step)[loader].dataset)


def test_a_step_reads_its_own_folder_and_values(tiny_config, poles):
    cfg = with_steps(tiny_config(), BASE, dict(
        classes=['arrow'], data=own(poles, dict(arrow=7, square=200))))
    dataset = built(cfg, 1)
    assert {Path(dataset.get_data_info(i)['img_path']).parent
            for i in range(len(dataset))} == {poles / 'images' / 'train'}
    values = set()
    for i in range(len(dataset)):
        sample = dataset[i]['data_samples']
        values |= set(sample.gt_sem_seg.data.unique().tolist())
    assert values <= {0, 5, 255} and 5 in values  # old squares: background
    test = built(cfg, 1, 'test_dataloader')
    seen = {}
    for i in range(len(test)):
        sample = test[i]['data_samples']
        assert sample.unlabelled == (
            (1, 3, 4) if sample.test_set else ())
        seen.setdefault(sample.test_set, set()).update(
            sample.gt_sem_seg.data.unique().tolist())
    assert seen[0] - {255} == set(range(6))  # it knows arrows by name
    assert seen[1] - {255} == {0, 2, 5}
    assert dataset.metainfo['classes'] == test.metainfo['classes'] == (
        'background', *BASE['classes'], 'arrow')
    assert dataset.metainfo['palette'] == test.metainfo['palette']


def test_old_classes_may_be_labelled(tiny_config, poles):
    cfg = with_steps(tiny_config(), BASE, dict(
        classes=['arrow'], data=own(poles, dict(arrow=7, square=200),
                                    old='labelled')))
    values = set()
    dataset = built(cfg, 1)
    for sample in map(dataset.__getitem__, range(len(dataset))):
        values |= set(sample['data_samples'].gt_sem_seg.data.unique().tolist())
    assert values - {255} == {0, 2, 5}


def test_a_dataset_may_show_some_of_its_classes(tiny_config):
    """As a plain model that was trained on these alone had it."""
    cfg = with_steps(tiny_config(), dict(classes=['star', 'disc']))
    for loader in (cfg.train_dataloader, cfg.test_dataloader):
        loader.dataset.metainfo = dict(classes=('background', 'disc', 'star'))
    dataset, whole = built(cfg, 0), ShapesDataset(
        data_root=cfg.data_root, pipeline=[],
        ann_file='ImageSets/Segmentation/train.txt')
    masks = {whole.get_data_info(i)['img_path']: whole.get_data_info(i)[
        'seg_map_path'] for i in range(len(whole))}
    assert len(dataset)
    for i in range(len(dataset)):
        part, place = dataset.samples[i]
        sample = part.info(place)
        for transform in part.pipeline.transforms[:3]:
            sample = transform(sample)
        raw = np.array(Image.open(masks[sample['img_path']]))
        known = [NAMES.index(name) for name in ('star', 'disc')]
        wanted = np.select([raw == 0, raw == known[0], raw == known[1]],
                           [0, 1, 2], 255)
        assert (sample['gt_seg_map'] == wanted).all()
        assert np.isin(wanted, (1, 2)).any()


@pytest.mark.parametrize('role', ['train', 'heldout', 'test'])
def test_ids_names_and_data_of_their_own_read_the_same(shapes_root, role):
    """A scenario over one dataset is a special case of many."""
    source = dict(
        type='mmseg_spwc.ShapesDataset', data_root=str(shapes_root),
        ann_file='ImageSets/Segmentation/train.txt',
        pipeline=[dict(type='LoadImageFromFile'),
                  dict(type='LoadAnnotations'), dict(type='PackSegInputs')])
    names = [list(NAMES[1:5]), list(NAMES[5:8])]
    first, *others = (ContinualSegDataset(
        source, dict(dataset='shapes', steps=steps, partial=True), 1, role,
        heldout=dict(ratio=.2, seed=0), own=[None, source])
        for steps in (
            [[1, 2, 3, 4], [5, 6, 7]],
            [dict(classes=step) for step in names],
            [dict(classes=names[0]),
             dict(classes=names[1], data=dict(train=source, test=source))]))
    for other in others:
        paths = [[d.get_data_info(i)['img_path'] for i in range(len(d))]
                 for d in (first, other)]
        assert set(paths[0]) == set(paths[1])
        assert first.metainfo['classes'] == other.metainfo['classes']
        for i in (0, 3):
            same = paths[1].index(paths[0][i])
            a, b = (d[k]['data_samples'].gt_sem_seg.data
                    for d, k in ((first, i), (other, same)))
            assert a.equal(b)


@pytest.fixture(scope='module')
def run(config_in, poles, tmp_path_factory):
    cfg = with_steps(
        config_in(tmp_path_factory.mktemp('own')), BASE, dict(
            classes=['pole'], data=own(poles, dict(
                pole=7, background='others'))))
    ContinualRunner(cfg).train()
    return cfg


def test_test_sets_are_scored_together_and_apart(run):
    record = Record.read(run.work_dir)
    first, second = record.steps
    assert [s['step'] for s in first['test_sets']] == [0]
    assert first['test_sets'][0]['iou'] == first['iou']
    assert [s['step'] for s in second['test_sets']] == [0, 1]
    apart = second['test_sets']
    assert sum(s['images'] for s in apart) == second['images']['test']
    assert apart[0]['iou'][5] is None  # the pole
    assert apart[1]['iou'][1:5] == [None] * 4
    assert second['classes'] == ['background', *BASE['classes'], 'pole']
    assert record.content['scenario']['names'] == second['classes'][1:]
    assert build_scenario({
        k: v for k, v in record.content['scenario'].items()
        if k not in ('hash', 'split')}).hash == record.content[
            'scenario']['hash']


def test_a_step_may_be_added_and_old_data_go(run, poles):
    """What is finished stays; a new step needs its own data alone."""
    cfg = run.copy()
    before = scenario_of(cfg)
    facts = [before.step_facts(t) for t in range(2)]
    with_steps(cfg, dict(BASE, data=None), dict(
        classes=['pole'], data=None), dict(
            classes=['tree'], data=own(poles, dict(
                tree=200, pole=7))))
    after = scenario_of(cfg)
    assert [json.dumps(after.channels(t)) for t in range(2)] == [
        json.dumps(before.channels(t)) for t in range(2)]
    assert facts[0]['classes'] == after.step_facts(0)['classes']
    cfg.train_dataloader.dataset.data_root = '/no/where'
    for loader in ('train_dataloader', 'test_dataloader', 'val_dataloader'):
        assert len(built(cfg, 2, loader))
    assert step_config(cfg, after, 1).val_dataloader is None
    assert not len(built(cfg, 0, 'test_dataloader'))
    assert built(cfg, 0).metainfo['classes'] == ('background',
                                                 *BASE['classes'])


def test_spwc_goes_on_with_the_last_scores(run, config_in, poles, tmp_path,
                                           capsys):
    """A run whose data are gone hands on its weights and its scores."""
    cfg = with_steps(
        config_in(tmp_path, 'configs/demo/rcil-spwc_shapes-6-1.py'),
        BASE | dict(data=None), dict(classes=['pole'], data=None), dict(
            classes=['tree'], data=own(poles, dict(
                tree=200, background='others'))),
        dict(classes=['bush'], data=own(poles, dict(
            bush=7, background='others'))))
    cfg.start_from = f'{run.work_dir}/step_01/final.pth'
    cfg.train_dataloader.dataset.data_root = '/no/where'
    cfg.data_root = None
    cfg.train_cfg.max_epochs = cfg.schedule.later.train_cfg.max_epochs = 1
    steps = ContinualRunner(cfg).train().steps
    before = [s['kpi'] for s in Record.read(run.work_dir).steps]
    assert [s['kpi']['class'] for s in steps[:2]] == [
        b['class'] for b in before]
    assert [s['iou'] for s in steps[:2]] == [[None] * 5, [None] * 6]
    assert [s['images']['train'] for s in steps[:2]] == [0, 0]
    # the folders of trees tell of background, and of nothing old
    kpi = steps[2]['kpi']
    assert kpi['class'][1:6] == before[1]['class'][1:]
    assert kpi['since']['class'] == [2, *(
        None if x is None else 1 for x in before[1]['class'][1:]), 2]
    # this config keeps the background out of it
    assert steps[2]['priority']['psi'][1:] == before[1]['class'][1:]
    assert steps[3]['priority']['psi'][1:] == kpi['class'][1:]
    said = capsys.readouterr().out
    assert 'data gone: disc' in said and 'by the scores after step 1' in said


def test_a_class_that_no_image_shows_is_named(tiny_config, poles, tmp_path,
                                               monkeypatch):
    said = []
    for module in (segmentation_problem, classification_problem):
        monkeypatch.setattr(module, 'warn', said.append)
    seg = with_steps(tiny_config(), dict(
        classes=['arrow', 'ghost', 'spook'],
        data=own(poles, dict(arrow=7, ghost=99, spook=[98, 97],
                             background='others'))))
    cls = digits(tmp_path)
    source = dict(type='mmseg_spwc.DigitImages')
    cls.scenario = dict(problem='classification', dataset='mine', steps=[
        dict(classes=['three', 'ghost'], data=dict(
            train=source, labels=dict(three=3, ghost=10)))])
    for cfg, names in ((seg, 'ghost, spook'), (cls, 'ghost')):
        scenario = scenario_of(cfg)
        problem_of(scenario).count(
            {0: step_config(cfg, scenario, 0)}, scenario)
        assert f'No training image of step 0 shows {names}: nothing' in \
            said.pop()


def test_tasks_of_different_datasets(tmp_path):
    source = dict(type='mmseg_spwc.DigitImages')
    test = dict(source, split='test')
    cfg = digits(tmp_path, **{'train_cfg.max_epochs': 1})
    cfg.scenario = dict(problem='classification', dataset='mine', steps=[
        dict(classes=['2', '0']),
        dict(classes=['four', 'five'], data=dict(
            train=source, test=test, labels=dict(five=5, four=4))),
        dict(classes=['rest'], data=dict(
            train=source, test=test, old='labelled',
            labels={'rest': [7, 8], 'five': 5}))])
    dataset = built(cfg, 2)
    digit = dataset.source.labels[dataset.image_ids]
    channel = dict(zip((7, 8, 5), (4, 4, 3), strict=True))
    assert dataset.channels.tolist() == [channel[d] for d in digit.tolist()]
    assert dataset.tasks.tolist() == [
        1 if d == 5 else 2 for d in digit.tolist()]
    record = ContinualRunner(cfg).train()
    assert record.steps[2]['classes'] == ['2', '0', 'four', 'five', 'rest']
    assert [len(s['accuracy_by_step']) for s in record.steps] == [1, 2, 3]
    labels = np.asarray(built(cfg, 0, 'test_dataloader').source.labels)
    # the five of step 2 test task 1 too
    assert record.steps[2]['images']['test'] == sum(
        (labels == d).sum() for d in (0, 2, 4, 5, 5, 7, 8))
