"""What ``start_from`` names: a checkpoint, and the classes of its channels."""
import functools
import os
from collections.abc import Mapping
from pathlib import Path

from mmengine.config import Config

from mmseg_spwc.errors import CheckpointError, ConfigError, plain
from mmseg_spwc.record import Record, inside
from mmseg_spwc.runtime.checkpoint import FORMAT, load_plain

WORD = 'start_from'


def start_path(given: str | os.PathLike | Mapping) -> str:
    """The file or URL that ``start_from`` names; of a run, its last step."""
    path = os.fspath(given.get('checkpoint')
                     if isinstance(given, Mapping) else given)
    if not Path(path).is_dir():
        return path
    steps = Record.read(path).steps
    if not steps:
        raise CheckpointError(f'start_from={path} is a run that has finished '
                              'no step yet.')
    return str(inside(path, steps[-1]['checkpoint']))


def of_step(path: str) -> bool:
    """Whether a file is the ``final.pth`` of a step."""
    return _facts(path, _changed(path))[0]


def read_classes(given: str | Mapping) -> list[str]:
    """Names of the channels, as the config or the file gives them."""
    path = start_path(given)
    named = given.get('classes') if isinstance(given, Mapping) else None
    classes = list(named or _facts(path, _changed(path))[1])
    if not classes:
        raise CheckpointError(
            f'start_from={path} does not name the classes of its channels: '
            f"say start_from=dict(checkpoint='{path}', classes=[...]), in "
            'the order of its channels.')
    return classes


def settle_classes(cfg: Config) -> None:
    """Put the names of a checkpoint's classes where the scenario says so.

    A step of the scenario may have ``classes='start_from'``.
    """
    scenario = cfg.get('scenario') or {}
    steps = scenario.get('steps') if isinstance(scenario, Mapping) else None
    for step in steps if isinstance(steps, (list, tuple)) else ():
        if not isinstance(step, Mapping) or step.get('classes') != WORD:
            continue
        if not cfg.get(WORD):
            raise ConfigError("The scenario has classes='start_from', but the "
                              'config has no start_from: give the checkpoint '
                              'that knows them.')
        step['classes'] = read_classes(cfg[WORD])


def _changed(path: str) -> float:
    return os.stat(path).st_mtime if os.path.exists(path) else 0.


@functools.lru_cache(maxsize=8)
def _facts(path: str, changed: float) -> tuple[bool, tuple]:
    """Whether a file is a step of ours, and the classes that it names."""
    content = load_plain(path, 'meta')
    if not isinstance(content, Mapping):
        raise CheckpointError(f'start_from={path} holds no weights by name.')
    meta = content.get('meta')
    meta = meta if isinstance(meta, Mapping) else {}
    known = meta.get('dataset_meta') or {}
    classes = known.get('classes') or known.get('CLASSES') or meta.get(
        'CLASSES') or ()
    return content.get('format') == FORMAT, tuple(
        plain(str(name)) for name in classes)
