"""Fixtures that several test files share."""
import functools
import os
from pathlib import Path

import pytest
import torch

import mmseg_spwc.compat  # noqa: F401  (before anything of mmseg)

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True, scope='session')
def one_thread():
    """Two test processes share two cores."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def mmseg_scope():
    """The default scope is global state: let no test depend on another's."""
    from mmengine.registry import init_default_scope
    init_default_scope('mmseg')


@pytest.fixture(autouse=True, scope='session')
def short_overhead():
    """Leave out what costs most of a run of seconds and changes nothing.

    MMEngine lays every config out with yapf and asks compilers for their
    versions at every step.
    """
    from mmengine.config import config
    from mmengine.runner import runner
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, 'FormatCode', lambda text, **_: (text, True),
                      raising=False)  # not in every release
        patch.setattr(runner, 'collect_env',
                      functools.cache(runner.collect_env))
        yield


@pytest.fixture(autouse=True, scope='session')
def private_cache(tmp_path_factory):
    """Keep class indices of tests out of the user's cache."""
    folder = tmp_path_factory.getbasetemp() / 'cache'
    os.environ['MMSEG_SPWC_CACHE'] = str(folder)


@pytest.fixture(scope='session')
def shapes_root(tmp_path_factory) -> Path:
    """A small generated dataset in VOC layout, 48 px."""
    from mmseg_spwc.datasets.shapes import generate_shapes
    root = tmp_path_factory.mktemp('data') / 'shapes'
    generate_shapes(root, num_train=96, num_val=24, size=48, seed=0)
    return root


@pytest.fixture(scope='session')
def config_in(shapes_root):
    """Make the config of a sequence that trains in seconds, by folder."""
    from mmengine.config import Config

    def make(folder: Path, leaf: str = 'configs/demo/finetune_shapes-6-1.py',
             **options) -> Config:
        cfg = Config.fromfile(ROOT / leaf)
        cfg.merge_from_dict({
            'work_dir': str(folder / 'run'),
            'experiment_name': 'tiny',
            'data_root': str(shapes_root),
            'crop_size': 48,
            'total_batch_size': 8,
            'scenario.name': None,
            'scenario.steps': [[1, 2, 3, 4], [5, 6, 7], [8, 9, 10]],
            'train_dataloader.num_workers': 0,
            'train_dataloader.persistent_workers': False,
            'test_dataloader.num_workers': 0,
            'train_cfg.max_epochs': 2,
            'schedule.later.train_cfg.max_epochs': 2,
            **options
        })
        for loader in (cfg.train_dataloader, cfg.test_dataloader):
            loader.dataset.generate = None
        return cfg

    return make


@pytest.fixture
def tiny_config(config_in, tmp_path):
    """:func:`config_in` the test's own folder."""
    return functools.partial(config_in, tmp_path)


@pytest.fixture
def no_bars(monkeypatch):
    """Fail where a bar is drawn beside the display of the run."""
    from mmengine.utils import ProgressBar

    def start(self):
        raise AssertionError('a bar of its own, redrawn even in a pipe')

    monkeypatch.setattr(ProgressBar, 'start', start)
