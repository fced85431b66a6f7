"""Every method runs in several processes that agree at every step."""
import traceback
from pathlib import Path

import pytest
from digit_runs import (
    LEAVES,
    digits,
    train,
)
from forked_ranks import on_ranks
from mmengine.config import Config

from mmseg_spwc.datasets.shapes import generate_shapes
from mmseg_spwc.record import Record

pytestmark = pytest.mark.slow
METHODS = Path('configs/_base_/methods')
AUTHORS = ('../../spwc/rcil-spwc-authors-code_deeplabv3-r101-d16_'
           'voc12aug-512x512')
# spWC is no method of its own
ALONE = sorted(p.stem for p in METHODS.glob('*.py')
               if not p.stem.startswith('spwc'))
SEGMENTORS = [*((name, ) for name in ALONE), ('mib', 'spwc'),
              ('plop', 'spwc'), ('rcil', 'spwc'), ('ewc', 'spwc'),
              (AUTHORS, )]
GROUPS = [SEGMENTORS[i:i + 8] for i in range(0, len(SEGMENTORS), 8)]
SECONDS = 1500


@pytest.fixture(scope='module')
def odd_root(tmp_path_factory):
    """Images that four processes cannot share evenly."""
    root = tmp_path_factory.mktemp('odd') / 'shapes'
    generate_shapes(root, num_train=49, num_val=9, size=32, seed=0)
    return root


@pytest.fixture
def shapes(config_in, odd_root, tmp_path):
    """Two steps of one epoch with a method, by its fragments."""

    def make(*names: str) -> Config:
        folder = tmp_path / '-'.join(Path(name).name for name in names)
        cfg = config_in(folder, **{
            'experiment_name': str(folder),
            'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
            'data_root': str(odd_root),
            'crop_size': 32,
            'train_cfg.max_epochs': 1,
            'schedule.later.train_cfg.max_epochs': 1,
            'launcher': 'pytorch',
        })
        for name in names:
            given = Config.fromfile(METHODS / f'{name}.py')
            for key in given.keys() & {'method', 'self_paced'}:
                cfg[key] = given[key]
        return cfg

    return make


def train_all(cfgs: list) -> None:
    """Train one after another, and tell of all that failed."""
    errors = []
    for cfg in cfgs:
        try:
            train(cfg)
        except Exception:
            errors.append(f'{cfg.work_dir}\n{traceback.format_exc()}')
    assert not errors, '\n'.join(errors)


def check(folder: Path, cfgs: list, count: int = 2) -> None:
    told = on_ranks(folder / 'meet', train_all, cfgs, count, SECONDS)
    assert told == ['done'] * count, told[0][-6000:]
    for cfg in cfgs:
        record = Record.read(cfg.work_dir)
        steps = [1] if cfg.method.get('run') == 'last' else [0, 1]
        assert record.finished_steps == steps
        assert record.content['run']['world_size'] == count


@pytest.mark.parametrize('group', range(len(GROUPS)))
def test_segmentors(shapes, tmp_path, group):
    check(tmp_path, [shapes(*names) for names in GROUPS[group]])


def test_classifiers(tmp_path):
    check(tmp_path, [tasks(tmp_path, method) for method in LEAVES])


def test_four_ranks(shapes, tmp_path):
    check(tmp_path, [shapes('rcil', 'spwc'), tasks(tmp_path, 'ewc-spwc')], 4)


def tasks(folder: Path, method: str) -> Config:
    return digits(folder / method, method, launcher='pytorch', **{
        'scenario.name': '2', 'train_cfg.max_epochs': 1})
