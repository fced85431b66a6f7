"""Runs on the permuted digits that take about a second."""
from pathlib import Path

import torch
from mmengine.config import Config

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.record import Record
from mmseg_spwc.runtime.checkpoint import load_step

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / 'configs' / 'classification'
LEAVES = {
    path.name.split('_')[0]: path
    for path in sorted(CONFIGS.glob('*/*_mlp_permuted-digits.py'))
}


def digits(folder: Path, method: str = 'finetune', **options) -> Config:
    """A leaf with three tasks, a tiny network and two epochs.

    Args:
        folder (Path): Where it runs; its name is the experiment's.
        method (str): First word of a leaf's name.
        **options: Changes of the config.
    """
    cfg = Config.fromfile(LEAVES[method])
    cfg.merge_from_dict({
        'work_dir': str(folder),
        'experiment_name': str(folder),
        'scenario.name': '3',
        'total_batch_size': 64,
        'train_cfg.max_epochs': 2,
        'optim_wrapper.optimizer.lr': 0.05,
        'model.backbone.hidden': (24, 24),
        'model.head.in_channels': 24,
        'default_hooks.checkpoint.interval': 1000,
        **options
    })
    return cfg


def train(cfg: Config) -> Record:
    return ContinualRunner(cfg).train()


def weights(cfg: Config, step: int = 2) -> dict:
    path = f'{cfg.work_dir}/step_{step:02d}/final.pth'
    return load_step(path)['state_dict']


def same(a: dict, b: dict) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


def close(a: dict, b: dict, atol: float) -> bool:
    return a.keys() == b.keys() and all(
        torch.allclose(a[k], b[k], rtol=0, atol=atol) for k in a)
