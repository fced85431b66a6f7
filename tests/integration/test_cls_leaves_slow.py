"""Every classification leaf trains its first two tasks, on tiny data."""
import json
import math
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from digit_runs import CONFIGS, ROOT, plain_text_of_configs  # noqa: F401
from mmengine.config import Config
from PIL import Image

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.engine.checkpoint import load_step

LEAVES = sorted(
    str(path.relative_to(ROOT)) for path in CONFIGS.glob('*/*.py')
    if path.parent.name != '_base_')
TRAIN, TEST = 3, 1  # images of a class; one of three is held out


class FirstSteps(ContinualRunner):
    """The first two of the steps that a leaf trains."""

    @property
    def steps(self) -> list:
        return super().steps[:2]


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


def write_mnist(root: Path) -> None:
    """The four IDX files."""
    for prefix, count in (('train', TRAIN), ('t10k', TEST)):
        labels = np.repeat(np.arange(10, dtype=np.uint8), count)
        for name, array in (('images-idx3', noise(len(labels), 28, 28)),
                            ('labels-idx1', labels)):
            header = bytes([0, 0, 8, array.ndim]) + struct.pack(
                f'>{array.ndim}I', *array.shape)
            (root / f'{prefix}-{name}-ubyte').write_bytes(
                header + array.tobytes())


def write_cifar(root: Path) -> None:
    """The pickles of the python version."""
    folder = root / 'cifar-100-python'
    folder.mkdir()
    for name, count in (('train', TRAIN), ('test', TEST)):
        labels = np.repeat(np.arange(100), count).tolist()
        content = dict(data=noise(len(labels), 3072), fine_labels=labels)
        (folder / name).write_bytes(pickle.dumps(content, 2))
    names = [f'class {i}' for i in range(100)]
    (folder / 'meta').write_bytes(
        pickle.dumps(dict(fine_label_names=names), 2))


def write_tiny(root: Path) -> None:
    """The folders train and val, the latter with annotations."""
    (root / 'val' / 'images').mkdir(parents=True)
    lines, image = [], Image.fromarray(noise(64, 64, 3))
    for c in range(200):
        wnid = f'n{c:08d}'
        folder = root / 'train' / wnid / 'images'
        folder.mkdir(parents=True)
        for i in range(TRAIN):
            image.save(folder / f'{wnid}_{i}.JPEG')
        image.save(root / f'val/images/val_{c}.JPEG')
        lines.append(f'val_{c}.JPEG\t{wnid}\t0\t0\t63\t63\n')
    (root / 'val' / 'val_annotations.txt').write_text(''.join(lines))


WRITERS = dict(permuted_mnist=write_mnist, cifar100=write_cifar,
               tiny_imagenet=write_tiny)


@pytest.fixture(scope='module')
def root_of(tmp_path_factory):
    """The generated data of a scenario, made once."""
    made = {}

    def find(dataset: str) -> str | None:
        if dataset in WRITERS and dataset not in made:
            made[dataset] = tmp_path_factory.mktemp(dataset)
            WRITERS[dataset](made[dataset])
        return str(made[dataset]) if dataset in made else None

    return find


def losses_of(work_dir: Path, step: int) -> list:
    path, = work_dir.glob(f'step_{step:02d}/*/vis_data/scalars.json')
    lines = map(json.loads, path.read_text().splitlines())
    return [line['loss'] for line in lines if 'loss' in line]


@pytest.mark.slow
@pytest.mark.parametrize('leaf', LEAVES)
def test_leaf_trains(leaf, root_of, tmp_path):
    cfg = Config.fromfile(ROOT / leaf)
    cfg.merge_from_dict({
        'work_dir': str(tmp_path),
        'experiment_name': tmp_path.name,
        'data_root': root_of(cfg.scenario.dataset),
        'total_batch_size': 10,
        'train_cfg.max_epochs': 1,
        'default_hooks.logger.interval': 1,
        'default_hooks.checkpoint': None,
    })
    runner = FirstSteps(cfg)
    record = runner.train()
    assert record.finished_steps == runner.steps
    for step in runner.steps:
        losses = losses_of(tmp_path, step)
        assert losses and all(map(math.isfinite, losses))
        state = load_step(tmp_path / f'step_{step:02d}/final.pth')
        assert all(t.isfinite().all() for t in state['state_dict'].values()
                   if torch.is_floating_point(t))
    assert len(record.step(1)['accuracy_by_step']) == 2
