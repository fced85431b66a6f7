"""One step, cut out of an mmseg dataset."""
import itertools
import random

import numpy as np
import pytest
import torch
from PIL import Image

from mmseg_spwc.datasets.continual_seg import (
    ContinualSegDataset,
    _own_colours,
)
from mmseg_spwc.datasets.labelled_images import insert_label_map, pipeline_of
from mmseg_spwc.datasets.loading import (
    SeededInfiniteSampler,
    SeededSampler,
)
from mmseg_spwc.engine import step_config
from mmseg_spwc.registry import DATASETS
from mmseg_spwc.scenario import build_scenario


@pytest.fixture
def make(tiny_config):
    cfg = tiny_config()
    scenario = build_scenario(cfg.scenario.to_dict())

    def build(step, loader='train', **options):
        config = step_config(cfg, scenario, step)[f'{loader}_dataloader']
        return DATASETS.build({**config.dataset, **options})

    return build


def raw_mask(info):
    return np.array(Image.open(info['seg_map_path']))


def test_labels_and_images_of_a_step(make):
    dataset = make(1)
    assert len(dataset) > 0
    for i in range(len(dataset)):
        raw = set(np.unique(raw_mask(dataset.get_data_info(i))))
        assert raw & {5, 6, 7}
        sample = dataset[i]
        labels = set(sample['data_samples'].gt_sem_seg.data.unique().tolist())
        assert labels <= {0, 5, 6, 7, 255}


def test_heldout_and_training_images_never_meet(make):
    held = {make(2, 'val').get_data_info(i)['img_path']
            for i in range(len(make(2, 'val')))}
    assert held
    for step in range(3):
        dataset = make(step)
        seen = {dataset.get_data_info(i)['img_path']
                for i in range(len(dataset))}
        assert not seen & held


def test_test_labels_hide_the_future(make):
    dataset = make(0, 'test')
    sample = dataset[0]['data_samples'].gt_sem_seg.data
    raw = raw_mask(dataset.get_data_info(0))
    expected = np.where(raw == 255, 255, np.where(raw <= 4, raw, 0))
    assert (sample.numpy()[0] == expected).all()


def test_cumulative_training_labels_all_seen_classes(make):
    dataset = make(2, cumulative=True)
    single = make(2)
    assert len(dataset) > len(single)
    assert len(set(dataset.names)) == len(dataset)
    values = set()
    for i in range(len(dataset)):
        data = dataset[i]['data_samples'].gt_sem_seg.data
        values |= set(data.unique().tolist())
    assert values - {255} == set(range(11))


def test_metainfo_names_the_channels(make):
    classes = make(1).metainfo['classes']
    assert len(classes) == 8 and classes[0] == 'background'
    assert len(make(1).metainfo['palette']) == 8


def test_augmentation_depends_on_sample_and_epoch_only(make):
    first, second = make(1), make(1)
    np.random.seed(1)
    a = first[(3, 5)]['inputs']
    np.random.seed(2)
    second[(0, 0)]
    b = second[(3, 5)]['inputs']
    assert (a == b).all()
    assert any((first[(3, e)]['inputs'] != a).any() for e in range(5))


def test_samplers_say_the_epoch(make):
    dataset = make(1)
    sampler = SeededSampler(dataset, seed=0)
    sampler.set_epoch(4)
    keys = list(sampler)
    assert {epoch for _, epoch in keys} == {4}
    assert sorted(i for i, _ in keys) == list(range(len(dataset)))
    endless = iter(SeededInfiniteSampler(dataset, seed=0))
    keys = [next(endless) for _ in range(2 * len(dataset))]
    assert {e for _, e in keys[:len(dataset)]} == {0}
    assert {e for _, e in keys[len(dataset):]} == {1}
    assert sorted(i for i, _ in keys[len(dataset):]) == \
        list(range(len(dataset)))


def test_pipeline_without_masks_is_refused():
    with pytest.raises(ValueError, match='LoadAnnotations'):
        insert_label_map([dict(type='LoadImageFromFile')], range(256))


def test_labels_are_mapped_right_behind_loading():
    pipeline = [dict(type=t) for t in ('LoadImageFromFile',
                                       'LoadAnnotations', 'PackSegInputs')]
    kinds = [t['type'] for t in insert_label_map(pipeline, range(256))]
    assert kinds == ['LoadImageFromFile', 'LoadAnnotations',
                     'mmseg_spwc.MapLabels', 'PackSegInputs']


def test_parts_with_different_pipelines_are_refused():
    with pytest.raises(ValueError, match='different pipelines'):
        pipeline_of(dict(datasets=[dict(pipeline=[1]), dict(pipeline=[2])]))


def test_restricted_classes_are_refused(make):
    dataset = make(0)
    config = dict(
        type='mmseg_spwc.ShapesDataset', pipeline=[],
        metainfo=dict(classes=('background', 'disc')),
        data_root=dataset.parts[0].images.dataset.data_root,
        ann_file='ImageSets/Segmentation/train.txt')
    with pytest.raises(ValueError, match='restricts its classes'):
        ContinualSegDataset(
            config, dict(dataset='shapes', name='6-1'), 0)


def test_concatenated_parts_work_as_one(make, shapes_root):
    inner = make(0).parts[0].images.dataset
    part = dict(
        type='mmseg_spwc.ShapesDataset', data_root=str(shapes_root),
        pipeline=[dict(type='LoadImageFromFile'),
                  dict(type='LoadAnnotations'), dict(type='PackSegInputs')])
    both = ContinualSegDataset(
        dict(type='ConcatDataset', datasets=[
            dict(part, ann_file='ImageSets/Segmentation/train.txt'),
            dict(part, ann_file='ImageSets/Segmentation/val.txt')]),
        dict(dataset='shapes', name='offline'), 0)
    assert len(both) > len(inner)


@pytest.mark.parametrize('world_size', [1, 2, 4, 8])
@pytest.mark.parametrize('kind', [SeededSampler, SeededInfiniteSampler])
def test_an_epoch_has_the_same_batches_for_any_number_of_processes(
        make, monkeypatch, world_size, kind):
    dataset, total = make(1), 8
    count = len(dataset) // total * total

    def drawn(size):
        return [i for i, _ in itertools.islice(kind(dataset, seed=3), size)]

    alone = drawn(count)
    expected = [set(alone[i:i + total])
                for i in range(0, len(alone) - total + 1, total)]
    ranks = []
    for rank in range(world_size):
        monkeypatch.setattr('mmengine.dataset.sampler.get_dist_info',
                            lambda rank=rank: (rank, world_size))
        ranks.append(drawn(count // world_size))
    each = total // world_size
    batches = [
        set().union(*(set(r[i:i + each]) for r in ranks))
        for i in range(0, len(ranks[0]) - each + 1, each)
    ]
    assert batches == expected


@pytest.mark.parametrize('count', [2, 5, 11, 21])
def test_colours_of_own_classes_can_be_told_apart(count):
    """mmseg draws the colours of classes without a palette at random."""
    from mmseg.datasets import BaseSegDataset
    classes = [f'class {i}' for i in range(count)]
    source = BaseSegDataset(
        metainfo=dict(classes=classes), pipeline=[], lazy_init=True)
    assert len(source.metainfo['palette']) == count
    for background in (True, False):
        colours = np.array(_own_colours(source.metainfo, background), float)
        assert colours.shape == (count, 3)
        assert (colours[0] == 0).all() == background
        apart = np.linalg.norm(colours[:, None] - colours[None], axis=-1)
        assert apart[~np.eye(count, dtype=bool)].min() > 60
    own = dict(classes=classes, palette=[[1, 2, 3]] * count)
    assert _own_colours(own, True) == own['palette']


def test_reading_a_sample_draws_nothing_from_the_generators_in_use(make):
    dataset = make(1)
    torch.manual_seed(5), np.random.seed(5), random.seed(5)
    expected = torch.rand(1), np.random.rand(), random.random()
    torch.manual_seed(5), np.random.seed(5), random.seed(5)
    dataset[0], dataset[(1, 3)]
    assert (torch.rand(1), np.random.rand(), random.random()) == expected
