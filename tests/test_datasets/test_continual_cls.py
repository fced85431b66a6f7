"""The samples of one step, against loops over all images."""
import numpy as np
import pytest
import torch
from mmengine.dataset import pseudo_collate
from mmengine.registry import FUNCTIONS, init_default_scope
from PIL import Image
from torch.utils.data import DataLoader

from mmseg_spwc.datasets.images.source import ImageSource
from mmseg_spwc.datasets.loading import SeededSampler, collate_batches
from mmseg_spwc.registry import DATASETS
from mmseg_spwc.scenario import build_scenario
from mmseg_spwc.structures import BatchSamples

SPLIT = dict(
    problem='classification',
    dataset='toy',
    kind='task',
    steps=[[3, 1], [0, 5], [2, 4]],
    num_classes=6)
PERMUTED = dict(
    problem='classification',
    dataset='toy',
    kind='domain',
    steps=[['p0'], ['p1'], ['p2']],
    num_classes=6,
    permute=True,
    seed=4)
HELDOUT = dict(ratio=0.25)


@DATASETS.register_module(force=True)
class ToyImages(ImageSource):
    """Random images of 6 classes, ten each."""

    def __init__(self, seed: int = 0, classes: int = 6) -> None:
        rng = np.random.default_rng(seed)
        labels = rng.permutation(np.repeat(np.arange(classes), 10))
        images = rng.integers(1, 256, (len(labels), 2, 4, 3))
        super().__init__(
            torch.from_numpy(images.astype(np.uint8)),
            torch.from_numpy(labels), 'abcdef')


TOY = dict(type='mmseg_spwc.ToyImages')


def make(scenario=SPLIT, step=1, dataset=TOY, **kw):
    return DATASETS.build(
        dict(
            type='mmseg_spwc.ContinualClsDataset',
            dataset=dataset,
            scenario=scenario,
            step=step,
            **kw))


def rows(dataset):
    """Every sample as (image, channel, task)."""
    batch = dataset.__getitems__(list(range(len(dataset))))
    samples = batch['data_samples']
    images = [x.numpy().tobytes() for x in batch['inputs']]
    return list(
        zip(images, samples.gt_label.tolist(), samples.task.tolist(),
            strict=True))


def expected_rows(steps):
    """The same, by a loop over classes and images."""
    source, result, channel = ToyImages(), [], 0
    for task, classes in enumerate(SPLIT['steps']):
        for label in classes:
            for image, found in zip(source.images, source.labels,
                                    strict=True):
                if found == label and task in steps:
                    result.append((image.numpy().tobytes(), channel, task))
            channel += 1
    return result


def test_roles_of_a_split():
    assert sorted(rows(make())) == sorted(expected_rows([1]))
    assert sorted(rows(make(cumulative=True))) == sorted(
        expected_rows([0, 1]))
    assert sorted(rows(make(role='test'))) == sorted(expected_rows([0, 1]))
    grown = make(dict(SPLIT, kind='class'), role='test')
    assert sorted(rows(grown)) == sorted(expected_rows([0, 1]))


def test_heldout_is_no_training_image():
    held = rows(make(role='heldout', heldout=HELDOUT, step=2))
    train = rows(make(heldout=HELDOUT, step=2, cumulative=True))
    assert sorted(held + train) == sorted(expected_rows([0, 1, 2]))
    counts = np.bincount([c for _, c, _ in held])
    assert sorted(counts.tolist()) == [2, 2, 2, 3, 3, 3]
    # the part that an earlier step held out stays held out
    before = rows(make(role='heldout', heldout=HELDOUT, step=0))
    assert set(before) < set(held)


def test_split_facts():
    train = make(heldout=HELDOUT)
    facts = train.split_facts
    assert {**facts, 'sha256': None} == dict(
        seed=0, ratio=0.25, train=45, heldout=15, sha256=None)
    assert make(heldout=HELDOUT, role='heldout', step=2).split_facts == facts
    other = make(heldout=dict(ratio=0.25, seed=1)).split_facts
    assert other['sha256'] != facts['sha256']
    seeded = make(dict(SPLIT, seed=1), heldout=HELDOUT).split_facts
    assert seeded == other
    assert make(role='test').split_facts == dict(test=60)
    assert make().split_facts == dict(train=60, heldout=0)
    assert make(heldout=dict(ratio=0)).split_facts['heldout'] == 0


def permute_by_loop(image, order):
    out = torch.empty_like(image)
    for pixel in range(12):
        old = int(order[pixel])
        out[:, pixel // 3, pixel % 3] = image[:, old // 3, old % 3]
    return out


def test_permuted_pixels():
    scenario = build_scenario(PERMUTED)
    source = ToyImages()
    expected = []
    for task in range(3):
        order = scenario.permutation(task, 12)
        for image, label in zip(source.images, source.labels, strict=True):
            moved = permute_by_loop(image, order).numpy().tobytes()
            expected.append((moved, int(label), task))
    assert rows(make(PERMUTED, 2, role='test')) == expected
    assert rows(make(PERMUTED, 2)) == expected[120:]
    assert rows(make(PERMUTED, 0)) == expected[:60]
    heads = rows(make(dict(PERMUTED, heads='per_step'), 2, role='test'))
    assert [c for _, c, _ in heads] == [c + 6 * t for _, c, t in expected]


def test_data_sets_take_turns():
    scenario = dict(PERMUTED, turns=2)
    both = dict(type='ConcatDataset', datasets=[TOY, dict(TOY, seed=1)])
    expected = []
    for task in range(3):
        order = build_scenario(scenario).permutation(task, 12)
        source = ToyImages(seed=task % 2)
        for image, label in zip(source.images, source.labels, strict=True):
            moved = permute_by_loop(image, order).numpy().tobytes()
            expected.append((moved, int(label), task))
    assert rows(make(scenario, 2, both, role='test')) == expected
    assert rows(make(scenario, 1, both)) == expected[60:120]
    # each dataset gives its share of every class
    held = make(scenario, 2, both, role='heldout', heldout=HELDOUT)
    assert np.bincount(held.tasks).tolist() == [15, 15, 15]
    with pytest.raises(ValueError, match='1 dataset.* for turns=2'):
        make(scenario, 1, TOY)
    # without turns every step takes the images of both
    assert len(make(PERMUTED, 1, both)) == 120


def test_permuted_heldout_is_the_same_in_every_task():
    held = make(PERMUTED, 2, role='heldout', heldout=HELDOUT)
    ids = held.image_ids.reshape(3, -1)
    assert (ids == ids[0]).all()
    train = make(PERMUTED, 1, heldout=HELDOUT)
    assert set(train.image_ids.tolist()).isdisjoint(ids[0].tolist())


def test_domains_by_data_set():
    scenario = dict(PERMUTED, permute=False)
    parts = dict(
        type='ConcatDataset', datasets=[dict(TOY, seed=s) for s in range(3)])
    for task in range(3):
        source = ToyImages(task)
        got = rows(make(scenario, task, parts))
        assert got == [(x.numpy().tobytes(), int(y), task)
                       for x, y in zip(source.images, source.labels,
                                       strict=True)]
    held = make(scenario, 2, parts, role='heldout', heldout=HELDOUT)
    assert torch.bincount(held.tasks).tolist() == [15, 15, 15]
    with pytest.raises(ValueError, match=r'1 dataset\(s\) for 3 domains'):
        make(scenario)


def test_metainfo():
    assert make(step=1).metainfo['classes'] == ('d', 'b', 'a', 'f')
    heads = make(dict(PERMUTED, heads='per_step'), 1)
    assert heads.metainfo['classes'][5:7] == ('f@0', 'a@1')


AUGMENT = [
    dict(type='mmseg_spwc.BatchRandomFlip'),
    dict(type='mmseg_spwc.BatchRandomShift', padding=2)
]


def test_augmentation_depends_on_the_sample_alone():
    dataset = make(augment=AUGMENT, seed=3)
    whole = dataset.__getitems__([(i, 2) for i in range(20)])['inputs']
    parts = [
        dataset.__getitems__([(i, 2), (i - 1, 1)])['inputs'][0]
        for i in range(1, 20)
    ]
    assert torch.equal(torch.stack(parts), whole[1:])
    assert torch.equal(dataset[7, 2]['inputs'], whole[7])
    plain = make().__getitems__(list(range(20)))['inputs']
    epochs = [
        dataset.__getitems__([(i, e) for i in range(20)])['inputs']
        for e in range(3)
    ]
    for other in (plain, *epochs[:2],
                  make(augment=AUGMENT, seed=4).__getitems__(
                      [(i, 2) for i in range(20)])['inputs']):
        changed = (other != whole).flatten(1).any(1)
        assert changed.sum() > 10
    assert torch.equal(epochs[2], whole)


def test_one_sample():
    pytest.importorskip('mmpretrain')
    dataset = make()
    sample = dataset[4]
    batch = dataset.__getitems__([4])
    assert torch.equal(sample['inputs'], batch['inputs'][0])
    assert sample['data_samples'].task == 1
    assert int(sample['data_samples'].gt_label) == int(
        batch['data_samples'].gt_label)


@pytest.mark.parametrize('workers', [0, 2])
def test_in_a_loader(workers):
    dataset = make(PERMUTED, 1, augment=AUGMENT)
    collate = FUNCTIONS.get('mmseg_spwc.collate_batches')
    assert collate is collate_batches
    loader = DataLoader(
        dataset,
        batch_size=16,
        sampler=SeededSampler(dataset, seed=1),
        num_workers=workers,
        collate_fn=collate)
    batches = list(loader)
    assert [len(b['inputs']) for b in batches] == [16, 16, 16, 12]
    assert all(isinstance(b['data_samples'], BatchSamples) for b in batches)
    order = [index for index, _ in SeededSampler(dataset, seed=1)]
    expected = dataset.__getitems__([(i, 0) for i in order])
    assert torch.equal(
        torch.cat([b['inputs'] for b in batches]), expected['inputs'])
    labels = torch.cat([b['data_samples'].gt_label for b in batches])
    assert torch.equal(labels, expected['data_samples'].gt_label)


def test_collate_samples_as_mmengine_does():
    samples = [dict(inputs=torch.ones(1)), dict(inputs=torch.zeros(1))]
    assert collate_batches(samples) == pseudo_collate(samples)


@pytest.fixture
def folders(tmp_path):
    """12 images of three classes for an mmpretrain dataset."""
    pytest.importorskip('mmpretrain')
    import mmpretrain.datasets  # noqa: F401
    init_default_scope('mmpretrain')
    for i in range(12):
        path = tmp_path / 'xyz'[i % 3] / f'{i:02d}.png'
        path.parent.mkdir(exist_ok=True)
        row = np.arange(8, dtype=np.uint8) + 8 * i
        Image.fromarray(np.stack([row] * 4)).convert('RGB').save(path)
    return dict(
        type='CustomDataset',
        data_prefix=str(tmp_path),
        pipeline=[
            dict(type='LoadImageFromFile'),
            dict(type='RandomFlip', prob=0.5, direction='horizontal'),
            dict(type='PackInputs')
        ])


XYZ = dict(SPLIT, steps=[[2], [0, 1]], num_classes=3)


def test_any_mmpretrain_data_set(folders):
    dataset = make(XYZ, 1, folders, role='test')
    assert dataset.__getitems__ is None
    assert dataset.metainfo['classes'] == ('z', 'x', 'y')
    assert len(dataset) == 12
    for index in range(12):
        data = dataset[index]
        image = int(data['inputs'].min()) // 8
        sample = data['data_samples']
        assert int(sample.gt_label) == [1, 2, 0][image % 3]
        assert sample.task == [1, 1, 0][image % 3]
    train = make(XYZ, 1, folders, heldout=HELDOUT)
    held = make(XYZ, 1, folders, role='heldout', heldout=HELDOUT)
    assert (len(train), len(held)) == (6, 3)


def test_pipelines_are_seeded_by_sample_and_epoch(folders):
    dataset = make(XYZ, 1, folders)

    def flips(epoch, order):
        found = {
            i: bool((dataset[i, epoch]['inputs'][0, 0].diff() != 1).any())
            for i in order
        }
        return [found[i] for i in range(8)]

    runs = [flips(epoch, range(8)) for epoch in range(4)]
    torch.manual_seed(9)
    assert flips(2, [3, 1, 7, 0, 2, 5, 6, 4]) == runs[2]
    assert len({tuple(r) for r in runs}) > 1
    assert any(map(any, runs)) and not all(map(all, runs))


def test_permuted_sample_by_sample(folders):
    scenario = dict(PERMUTED, num_classes=3)
    folders['pipeline'].pop(1)
    dataset = make(scenario, 1, folders, role='test')
    assert len(dataset) == 24
    order = build_scenario(scenario).permutation(1, 32)
    data = dataset[12]
    assert data['data_samples'].task == 1
    plain = np.stack([np.arange(8)] * 4).ravel()  # image 0
    assert data['inputs'][2].flatten().tolist() == plain[order].tolist()


def test_domains_sample_by_sample(folders):
    scenario = dict(
        PERMUTED, permute=False, num_classes=3, steps=[['p'], ['q']])
    parts = dict(type='ConcatDataset', datasets=[folders, folders])
    dataset = make(scenario, 1, parts)
    assert dataset.image_ids.tolist() == list(range(12, 24))
    data = dataset[5]
    assert data['data_samples'].task == 1
    assert int(data['inputs'].min()) // 8 == 4  # second file of folder y
    assert int(data['data_samples'].gt_label) == 1


@pytest.mark.parametrize(('fields', 'message'), [
    (dict(role='val'), "'train', 'heldout' or 'test'"),
    (dict(role='heldout'), 'Nothing is held out'),
    (dict(
        dataset=dict(TOY, classes=5),
        scenario=dict(SPLIT, steps=[[0, 1, 2, 3, 4], [5]])),
     r'No image for step 1 \(5\)'),
    (dict(scenario=dict(SPLIT, steps=[[0], [1]], num_classes=2)),
     'hold the label 2, 3, 4, 5, but .* 0 to 1'),
])
def test_errors(fields, message):
    with pytest.raises(ValueError, match=message):
        make(**fields)


def test_no_batched_augmentation_of_files(folders):
    with pytest.raises(ValueError, match='InMemoryImages'):
        make(XYZ, 1, folders, augment=AUGMENT)
    with pytest.raises(IndexError, match='no step 9'):
        make(step=9)
