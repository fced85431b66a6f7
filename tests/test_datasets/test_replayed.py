"""What a step's dataset replays, and how it is labelled."""
import numpy as np
import pytest
import torch
from mmengine.config import Config

from mmseg_spwc.datasets.continual_cls import ContinualClsDataset
from mmseg_spwc.datasets.continual_seg import (
    ContinualSegDataset,
    labelled_channels,
)
from mmseg_spwc.datasets.loading import ReplaySampler, SeededSampler
from mmseg_spwc.scenario import build_scenario

STEPS = [[1, 2, 3, 4], [5, 6, 7], [8, 9, 10]]
SCENARIO = dict(dataset='shapes', name='cut', setting='overlapped',
                steps=STEPS, num_classes=11)
REPLAY = dict(size=12, policy='round_robin')


@pytest.fixture(scope='module')
def segmented(shapes_root):
    cfg = Config.fromfile('configs/demo/finetune_shapes-6-1.py')
    source = cfg.train_dataloader.dataset.to_dict()
    source.update(data_root=str(shapes_root), generate=None)
    for transform in source['pipeline']:
        if 'Crop' in transform['type']:
            transform['size'] = 48

    def make(step=2, scenario=SCENARIO, **options):
        return ContinualSegDataset(
            source, scenario, step, heldout=dict(ratio=.2),
            **{'replay': REPLAY, **options})

    return make


def raw(dataset, index):
    """The labels of a sample without crop, as the step has them."""
    part, _ = dataset.samples[index]
    load, annotate, tell = part.pipeline.transforms[:3]
    return tell(annotate(load(dataset.get_data_info(index))))['gt_seg_map']


def test_the_held_out_slice_and_the_step_itself_are_never_replayed(segmented):
    dataset = segmented()
    own = {*dataset.names[:dataset.new]}
    replayed = dataset.names[dataset.new:]
    assert replayed == [s.name for s in dataset.memory]
    assert 0 < len(replayed) <= 12 and not own & {*replayed}
    held = segmented(role='heldout', replay=None)
    assert not {*replayed} & {*held.names}
    assert {s.step for s in dataset.memory} == {0, 1}
    # what may come twice is an option
    both = segmented(replay=dict(REPLAY, duplicates=True, size=60))
    assert len(both.names) > len({*both.names})


def test_the_first_step_and_other_roles_replay_nothing(segmented):
    assert segmented(step=0).memory == []
    assert len(segmented(step=0)) == segmented(step=0, replay=None).new
    for options in (dict(role='test'), dict(cumulative=True)):
        with pytest.raises(ValueError, match='leave it out'):
            segmented(**options)


@pytest.mark.parametrize(('labels', 'spans'), [
    ('stored', {0: (1, 5), 1: (5, 8)}), ('seen', {0: (1, 11), 1: (1, 11)}),
    ('current', {0: (8, 11), 1: (8, 11)})])
def test_labels_of_replayed_images(segmented, labels, spans):
    dataset = segmented(replay=dict(REPLAY, labels=labels))
    for index in range(dataset.new, len(dataset)):
        step = dataset.memory[index - dataset.new].step
        info = dataset.get_data_info(index)
        first, end = spans[step]
        names = set(range(first, end)) | {0, 255}
        assert {*np.unique(raw(dataset, index)).tolist()} <= names
        # and what is named is there: the classes of shapes are in order
        shown = dataset.classes_of(index)
        assert {*np.unique(raw(dataset, index)).tolist()} - {0, 255} == \
            {c for c in shown if first <= c < end}
        sample = dataset[index]['data_samples']
        assert sample.labelled == (first, end) and sample.image_step == step
        assert info['img_path'] == sample.img_path
    sample = dataset[0]['data_samples']
    assert sample.labelled == (8, 11) and sample.image_step == 2


def test_without_replay_a_sample_says_nothing_of_it(segmented):
    sample = segmented(replay=None)[0]['data_samples']
    assert 'labelled' not in sample and 'image_step' not in sample


def test_kept_in_memory_replayed_images_are_the_same(segmented):
    plain, kept = segmented(), segmented(keep_decoded=.01)
    index = plain.new
    for _ in range(2):
        a, b = plain[(index, 1)], kept[(index, 1)]
        assert torch.equal(a['inputs'], b['inputs'])
        assert torch.equal(a['data_samples'].gt_sem_seg.data,
                           b['data_samples'].gt_sem_seg.data)


def test_facts_name_the_images_and_weigh_their_files(segmented):
    facts = segmented().replay_facts()
    assert facts['images'] == len(facts['names']) == len(facts['steps'])
    assert facts['bytes'] > 100 * facts['images']
    assert facts['share'] == facts['images'] / len(segmented())


@pytest.mark.parametrize(('setting', 'labels', 'step', 'span'), [
    ('overlapped', 'stored', 0, (1, 5)), ('overlapped', 'stored', 1, (5, 8)),
    ('sequential', 'stored', 1, (1, 8)), ('sequential', 'current', 2, (1, 11)),
    ('disjoint', 'seen', 1, (1, 11)), ('disjoint', 'current', 1, (8, 11))])
def test_named_channels_are_those_of_the_label_table(setting, labels, step,
                                                     span):
    scenario = build_scenario(dict(SCENARIO, setting=setting))
    assert labelled_channels(scenario, 2, labels, step) == span
    named = 2 if labels == 'current' else step
    if labels != 'seen':
        shown = {*scenario.train_table(named).tolist()} - {0, 255}
        assert shown == set(range(*span))


def classified(kind='class', step=2, **options):
    steps = {'domain': [['a'], ['b'], ['c']]}.get(
        kind, [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]])
    scenario = dict(
        problem='classification', dataset='digits', name='cut', kind=kind,
        steps=steps, num_classes=10, permute=kind == 'domain')
    return ContinualClsDataset(
        dict(type='mmseg_spwc.DigitImages', split='train'), scenario, step,
        heldout=dict(ratio=.2), **{'replay': REPLAY, **options})


@pytest.mark.parametrize('kind', ['class', 'task', 'domain'])
def test_replayed_digits_are_those_of_their_step(kind):
    dataset = classified(kind)
    assert len(dataset) == dataset.new + 12
    for s in range(2):
        past = classified(kind, step=s, replay=None)
        known = {int(i): k for k, i in enumerate(past.image_ids)}
        rows = [i for i in range(dataset.new, len(dataset))
                if dataset.tasks[i] == s]
        assert len(rows) in range(5, 8)
        for i in rows:  # the same picture, the same channel, never held out
            k = known[int(dataset.image_ids[i])]
            assert torch.equal(dataset[i]['inputs'], past[k]['inputs'])
            assert dataset.channels[i] == past.channels[k]
    assert dataset.replay_facts()['bytes'] == 12 * 32 * 32


def test_a_sampler_without_memory_is_the_ordinary_one():
    dataset = classified(step=0)
    ordinary = list(SeededSampler(dataset, seed=3))
    assert list(ReplaySampler(dataset, 8, seed=3)) == ordinary


def ranks_of(sampler, world):
    parts = []
    for rank in range(world):
        sampler.rank = rank
        parts.append(list(sampler))
    return parts


@pytest.mark.parametrize('mix', ['append', 'half', dict(share=.25)])
def test_processes_share_the_batches_of_one(mix, monkeypatch):
    dataset = classified(replay=dict(REPLAY, mix=mix))
    alone = list(ReplaySampler(dataset, 8, seed=3))
    assert len(ReplaySampler(dataset, 8, seed=3)) == len(alone)
    monkeypatch.setattr('mmengine.dataset.sampler.get_dist_info',
                        lambda: (0, 2))
    first, second = ranks_of(ReplaySampler(dataset, 4, seed=3), 2)
    assert len(first) == len(second) == len(alone) // 2
    for k in range(0, len(first) - 4, 4):
        assert {*first[k:k + 4], *second[k:k + 4]} == {
            *alone[2 * k:2 * k + 8]}


def test_what_comes_again_within_an_epoch_is_augmented_anew():
    dataset = classified(replay=dict(REPLAY, size=2, mix='half'))
    keys = list(ReplaySampler(dataset, 8, seed=3))
    replayed = [key for key in keys if key[0] >= dataset.new]
    assert len(replayed) > 100 and len({*keys}) == len(keys)


def test_priorities_decide_what_is_drawn():
    dataset = classified(replay=dict(REPLAY, mix='half'))
    sampler = ReplaySampler(dataset, 8, seed=3)
    sampler.draw_by([0., 1.], 'step')
    drawn = {dataset.memory[i - dataset.new].step
             for i, _ in sampler if i >= dataset.new}
    assert drawn == {1}
    sampler.draw_by([0.] * 4 + [1.] + [0.] * 5, 'class')
    drawn = {dataset.memory[i - dataset.new].classes
             for i, _ in sampler if i >= dataset.new}
    assert drawn == {frozenset([4])}
