"""What the rows of the table of wrong inputs have in common."""
import contextlib
import hashlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from digit_runs import ROOT, digits
from mmengine.config import Config

from mmseg_spwc.engine import ContinualRunner
from mmseg_spwc.errors import user_errors

DEMO = ROOT / 'configs' / 'demo' / 'finetune_shapes-6-1.py'

KEPT = ('*.pth', 'record.json', 'results.csv', '*.safetensors')


@dataclass(frozen=True)
class Row:
    """A wrong input: its name, what makes it, and what is said about it.

    Args:
        name (str): The mistake.
        make (Callable): Makes it, given a :class:`Case`.
        *says (str): Regular expressions; the sentence matches all of them.
    """
    name: str
    make: Callable
    says: tuple

    def __init__(self, name: str, make: Callable, *says: str) -> None:
        for key, value in dict(name=name, make=make, says=says).items():
            object.__setattr__(self, key, value)


@dataclass(frozen=True)
class Case:
    """Where a row's mistake is made: a folder, and data to spoil.

    Args:
        folder (Path): The row's own folder.
        shapes (Path): A small segmentation dataset; not to be changed.
        finished (Path): The work_dir of a finished run of two tasks of
            permuted digits; not to be changed, which the test checks.
        patch: pytest's monkeypatch.
    """
    folder: Path
    shapes: Path
    finished: Path
    patch: object

    @property
    def weights(self) -> Path:
        """A good checkpoint of step 0."""
        return self.finished / 'step_00' / 'final.pth'

    def copy_of_shapes(self) -> Path:
        return Path(shutil.copytree(self.shapes, self.folder / 'data'))

    def copy_of_run(self) -> Path:
        return Path(shutil.copytree(self.finished, self.folder / 'run'))

    def digits(self, method: str = 'finetune', **options) -> Config:
        """A run on digits; it would take seconds if it were right."""
        return digits(self.folder / 'run', method,
                      **{'scenario.name': '2', 'train_cfg.max_epochs': 1,
                         **options})

    def segment(self, **options) -> Config:
        """A run on the shapes."""
        cfg = Config.fromfile(DEMO)
        cfg.merge_from_dict({
            'work_dir': str(self.folder / 'run'),
            'experiment_name': str(self.folder),
            'data_root': str(self.shapes),
            'crop_size': 32,
            'total_batch_size': 2,
            'scenario.name': None,
            'scenario.steps': [[1, 2, 3, 4, 5, 6, 7], [8, 9, 10]],
            'train_dataloader.num_workers': 0,
            'train_dataloader.persistent_workers': False,
            'test_dataloader.num_workers': 0,
            **options
        })
        for loader in (cfg.train_dataloader, cfg.test_dataloader):
            loader.dataset.generate = None
        return cfg


@contextlib.contextmanager
def untouched(folder: Path) -> Iterator[None]:
    """Check that no weights, record or table are changed in a work_dir."""
    before = _content(folder)
    try:
        yield
    finally:
        assert _content(folder) == before


def _content(folder: Path) -> dict:
    files = [path for pattern in KEPT for path in folder.rglob(pattern)
             if path.is_file()]
    return {path: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files}


def train(cfg: Config, begins: bool = False) -> None:
    """Run as the tool does: a user's mistake exits with code 2.

    Args:
        cfg (Config): With a mistake.
        begins (bool): Whether it can only be found when a step begins.
            Defaults to False: no step may begin.
    """
    folder = Path(cfg.work_dir)
    before = set(folder.glob('step_*'))
    try:
        with user_errors(), untouched(folder):
            try:
                ContinualRunner(cfg).train()
            finally:
                assert begins or set(folder.glob('step_*')) == before
    except Exception as error:  # SystemExit is none
        pytest.fail(f'A user would see a traceback of {error!r}.')


def digits_with(**options) -> Callable:
    """A row's ``make``: the digits with changes of the config."""
    return lambda case: train(case.digits(**options))


def method_with(method: str, **options) -> Callable:
    return lambda case: train(case.digits(method, **options))


def digits_edited(edit: Callable) -> Callable:
    """A row's ``make``: the digits with a change that is not a merge."""

    def make(case: Case) -> None:
        cfg = case.digits()
        edit(cfg)
        train(cfg)

    return make
