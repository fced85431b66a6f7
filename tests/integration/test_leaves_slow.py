"""Every leaf trains: one iteration of its first two steps, on tiny data."""
import json
import math
import tempfile
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from mmengine.config import Config

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.engine.checkpoint import load_step
from mmseg_spwc.scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]
LEAVES = sorted(
    str(path.relative_to(ROOT)) for path in ROOT.glob('configs/*/*.py')
    if path.parent.name not in ('_base_', 'classification'))
SIZE = 64
BATCH = 2


class FirstSteps(ContinualRunner):
    """The first two of the steps that a leaf trains."""

    @property
    def steps(self) -> list:
        return super().steps[:2]


def write_pair(image: Path, mask: Path, labels: list) -> None:
    """Write noise and a mask of 4x4 blocks that holds all labels."""
    for path in (image, mask):
        path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(len(labels))
    cv2.imwrite(str(image), rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8))
    blocks = np.resize(np.uint8(labels), (SIZE // 4, SIZE // 4))
    cv2.imwrite(str(mask), blocks.repeat(4, 0).repeat(4, 1))


def labels_of(scenario: Scenario, step: int) -> list:
    return sorted({0, *scenario.raw_labels(scenario.new_classes(step))})


def write_voc(root: Path, scenario: Scenario, steps: list) -> None:
    """VOC's layout, with the images of step 0 in one list, the rest as SBD's.

    Three images a step: one is held out, two make a batch.
    """
    lists = root / 'ImageSets' / 'Segmentation'
    lists.mkdir(parents=True)
    names = {'train': [], 'aug': [], 'val': []}
    for step in steps:
        for i, split in enumerate([*['aug' if step else 'train'] * 3, 'val']):
            name = f'{step:02d}_{i}'
            names[split].append(name)
            masks = 'SegmentationClass' + 'Aug' * (split == 'aug')
            write_pair(root / 'JPEGImages' / f'{name}.jpg',
                       root / masks / f'{name}.png',
                       labels_of(scenario, step))
    for split, found in names.items():
        (lists / f'{split}.txt').write_text('\n'.join(found) + '\n')


def write_shapes(root: Path, scenario: Scenario, steps: list) -> None:
    """As VOC, with one training list."""
    write_voc(root, scenario, steps)
    lists = root / 'ImageSets' / 'Segmentation'
    with open(lists / 'train.txt', 'a') as file:
        file.write((lists / 'aug.txt').read_text())
    for mask in (root / 'SegmentationClassAug').iterdir():
        mask.rename(root / 'SegmentationClass' / mask.name)


def write_ade(root: Path, scenario: Scenario, steps: list) -> None:
    for step in steps:
        for i, split in enumerate([*['training'] * 3, 'validation']):
            write_pair(root / 'images' / split / f'{step}_{i}.jpg',
                       root / 'annotations' / split / f'{step}_{i}.png',
                       labels_of(scenario, step))


def write_cities(root: Path, scenario: Scenario, steps: list) -> None:
    """One city a step, and one that stands for the folder of val.

    Four images a city: one tests, one is held out, two make a batch.
    """
    cities = [(scenario.steps[step][0], 'train') for step in steps]
    for city, split in [*cities, ('munster', 'val')]:
        for i in range(4):
            name = f'{city}/{city}_{i:06d}_000019'
            write_pair(
                root / 'leftImg8bit' / split / f'{name}_leftImg8bit.png',
                root / 'gtFine' / split / f'{name}_gtFine_labelTrainIds.png',
                list(range(19)))


WRITERS = dict(voc=write_voc, shapes=write_shapes, ade=write_ade,
               cityscapes_domain=write_cities)


@pytest.fixture
def folder():
    """A folder that does not outlive the test: R101 fills disks."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def tiny(leaf: str, folder: Path) -> Config:
    cfg = Config.fromfile(ROOT / leaf)
    loader = dict(num_workers=0, persistent_workers=False)
    epoch = dict(train_cfg=dict(max_epochs=1))
    cfg.merge_from_dict(
        dict(
            work_dir=str(folder / 'run'),
            data_root=str(folder / 'data'),
            experiment_name=folder.name,  # visualisers live on by name
            crop_size=SIZE,
            total_batch_size=BATCH,
            train_dataloader=loader,
            test_dataloader=loader,
            **epoch,
            method={stage: epoch for stage in cfg.method
                    if stage == 'later' or stage.startswith('step_')},
            schedule=dict(later=epoch),
            default_hooks=dict(checkpoint=None)))
    if 'generate' in cfg.train_dataloader.dataset:
        for part in (cfg.train_dataloader, cfg.test_dataloader):
            part.dataset.generate = None
    cfg.model.pretrained = cfg.model.backbone.init_cfg = None  # no download
    return cfg


def losses_of(folder: Path, step: int) -> list:
    """The losses that MMEngine logged, at least one."""
    path, = folder.glob(f'run/step_{step:02d}/*/vis_data/scalars.json')
    lines = map(json.loads, path.read_text().splitlines())
    losses = [line['loss'] for line in lines if 'loss' in line]
    assert losses
    return losses


@pytest.mark.slow
@pytest.mark.parametrize('leaf', LEAVES)
def test_leaf_trains(leaf, folder):
    cfg = tiny(leaf, folder)
    runner = FirstSteps(cfg)
    write = WRITERS[runner.scenario.dataset]
    write(folder / 'data', runner.scenario, range(runner.steps[-1] + 1))
    record = runner.train()
    assert record.finished_steps == runner.steps
    for step in runner.steps:
        assert all(map(math.isfinite, losses_of(folder, step)))
        state = load_step(folder / f'run/step_{step:02d}/final.pth')
        assert all(
            tensor.isfinite().all() for tensor in state['state_dict'].values()
            if torch.is_floating_point(tensor))
