"""Every leaf trains: one epoch of its first two steps, on tiny data."""
import json
import math
import tempfile
from argparse import Namespace
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from tiny_data import SIZE, WRITERS

from mmseg_spwc.config.load import load_config
from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.runtime.checkpoint import load_step

ROOT = Path(__file__).resolve().parents[2]
LEAVES = sorted(
    path.stem for path in (ROOT / 'configs').rglob('*.py')
    if not {'_base_', 'sweeps'}.intersection(path.parts))
# rows of the methods' tables, other settings and numbers of tasks
OTHERS = [
    ('mib_deeplabv3-r101-d16_voc12aug-512x512', '19-1', 'disjoint'),
    ('plop_deeplabv3-r101-d16_voc12aug-512x512', '10-1', 'overlapped'),
    ('plop_deeplabv3-r101-d16_cityscapes-domain-512x512', '1-1', None),
    ('rcil_deeplabv3-r101-d16_cityscapes-domain-512x512', '11-1', None),
    ('alife-m_deeplabv3-r101-d16_voc12aug-512x512', '15-5', 'disjoint'),
    ('alife_deeplabv3-r101-d16_ade20k-512x512', '50-50', 'overlapped'),
    ('finetune_shapes-6-1', '2-2', 'sequential'),
    ('ewc_mlp_permuted-digits', '3', None),
    ('lwf_small-vgg_cifar100', '20x5', None),
]


class FirstSteps(ContinualRunner):
    """The first two of the steps that a leaf trains."""

    @property
    def steps(self) -> list:
        return super().steps[:2]


@pytest.fixture
def folder():
    """A folder that does not outlive the test: R101 fills disks."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def tiny(leaf: str, name: str | None, setting: str | None,
         folder: Path) -> Config:
    path, = (ROOT / 'configs').rglob(f'{leaf}.py')
    cfg = load_config(Namespace(
        config=str(path), scenario=name, setting=setting,
        work_dir=str(folder / 'run')))
    epoch = dict(train_cfg=dict(max_epochs=1))
    cfg.merge_from_dict(
        dict(
            experiment_name=folder.name,  # visualisers live on by name
            data_root=str(folder / 'data') if cfg.get('data_root') else None,
            **epoch,
            method={stage: epoch for stage in cfg.method
                    if stage in ('every', 'later')
                    or stage.startswith('step_')},
            schedule=dict(later=epoch),
            default_hooks=dict(logger=dict(interval=1), checkpoint=None)))
    if cfg.scenario.get('problem') == 'classification':
        cfg.total_batch_size = 10
        return cfg
    loader = dict(num_workers=0, persistent_workers=False)
    cfg.merge_from_dict(
        dict(crop_size=SIZE, total_batch_size=2, train_dataloader=loader,
             test_dataloader=loader))
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
@pytest.mark.parametrize(
    'leaf, name, setting', [*((leaf, None, None) for leaf in LEAVES),
                            *OTHERS])
def test_leaf_trains(leaf, name, setting, folder):
    runner = FirstSteps(tiny(leaf, name, setting, folder))
    scenario = runner.scenario
    assert name in (None, scenario.name)
    (folder / 'data').mkdir()
    WRITERS[scenario.dataset](
        folder / 'data', scenario, range(runner.steps[-1] + 1))
    record = runner.train()
    assert record.finished_steps == runner.steps
    for step in runner.steps:
        assert all(map(math.isfinite, losses_of(folder, step)))
        state = load_step(folder / f'run/step_{step:02d}/final.pth')
        assert all(
            tensor.isfinite().all() for tensor in state['state_dict'].values()
            if torch.is_floating_point(tensor))
    row = record.steps[-1].get('accuracy_by_step')
    assert row is None or len(row) == runner.steps[-1] + 1
