"""A sweep file: what to run, read and checked.

It is a Python config of MMEngine with these names; those that begin with an
underscore are the user's own:

===============  =====================================================
``methods``      by name: a config, or ``dict(config=, grid=,
                 cfg_options=, step_0=)``; paths start at the sweep file
``scenarios``    names, or dicts of keys of ``scenario``; by default
                 that of each config
``seeds``        whole numbers, by default 0
``grid``         values by config key, for all methods
``cfg_options``  overrides for all methods
``select``       the score that chooses among the grid's settings
``resources``    ``cpus`` and ``gpus`` of one trial
``retries``      how often a trial that died is tried again
``work_dir``     by default ``work_dirs/sweeps/<name>``
``paper``        what was published: ``title``, ``says``, and
                 ``scores[method][score]``, a number or (mean, deviation);
                 ``figures`` to draw when all is done, and ``needs``, a text
``scales``       by name, what another scale of the sweep changes
===============  =====================================================
"""
import difflib
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mmseg_spwc.config.keys import MOST_SEED, PATH, SEED
from mmseg_spwc.config.load import config_path, read_config
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.utils.options import Kind, is_list, is_number, is_whole
from mmseg_spwc.visualization.figures import FIGURES

KEYS = ('methods', 'scenarios', 'seeds', 'grid', 'cfg_options', 'select',
        'resources', 'retries', 'work_dir', 'paper', 'scales')
PAPER_KEYS = ('title', 'says', 'scores', 'figures', 'needs')
NEED_IMAGES = ('qualitative', )  # figures that records alone do not draw
METHOD_KEYS = ('config', 'grid', 'cfg_options', 'step_0')
# what may select, and the kind of problem that has it
SELECT = {'held-out mIoU': 'segmentation',
          'held-out accuracy': 'classification'}
# keys that a grid must leave to others
TAKEN = dict(scenario='scenarios', randomness='seeds')
# options that a sweep sets itself
SET_HERE = {'randomness.seed': 'seeds', 'work_dir': 'work_dir of the sweep'}
# what a trial takes; Ray refuses one and a half GPUs
CPUS = Kind(lambda v: is_number(v) and 0.01 <= v < math.inf,
            'a number above 0')
GPUS = Kind(lambda v: is_number(v) and v >= 0 and (
    v < 1 or float(v).is_integer()), 'a share below 1, or a whole number')
RETRIES = Kind(lambda v: is_whole(v) and v >= 0, 'a whole number from 0 on')


@dataclass(frozen=True)
class Method:
    """One entry of ``methods``."""
    name: str
    config: str  # its path
    grid: dict  # lists of values by config key
    options: dict  # overrides of the config
    step_0: str | None = None  # the method whose step 0 it takes


@dataclass(frozen=True)
class Sweep:
    """A sweep file with all defaults filled in; fields as in the file."""
    name: str
    methods: tuple
    scenarios: tuple
    seeds: tuple
    select: str | None
    cpus: float
    gpus: float
    retries: int
    work_dir: str
    paper: dict = field(default_factory=dict)


def read_sweep(path: str, scale: str | None = None) -> Sweep:
    """Read and check a sweep file, at one of its ``scales`` if named."""
    cfg = read_config(str(path))
    return parse_sweep(cfg.to_dict(), Path(cfg.filename), scale)


def parse_sweep(given: Mapping, path: Path, scale: str | None = None) -> Sweep:
    """Check the names and values of a sweep file."""
    given = {k: v for k, v in given.items() if not k.startswith('_')}
    check_names(given, KEYS, f'{path}')
    given = _at_scale(given, path, scale)
    name = f'{path.stem}-{scale}' if scale else path.stem
    need(given.get('methods'), f"{path} has no methods: add methods="
         "dict(name='path of a config', ...).")
    resources = dict(_dict(given, 'resources'))
    check_names(resources, ('cpus', 'gpus'), 'resources')
    sweep = Sweep(
        name=name,
        methods=tuple(
            _method(name, value, given, path.parent)
            for name, value in _dict(given, 'methods').items()
            if value is not None),  # as a file that inherits leaves one out
        scenarios=tuple(_scenario(value) for value in _list(
            given, 'scenarios', "['15-1']") or [{}]),
        seeds=_list(given, 'seeds', '[0, 1]') or (0, ),
        select=given.get('select'),
        cpus=resources.get('cpus', 1),
        gpus=resources.get('gpus', 0),
        retries=given.get('retries', 2),
        work_dir=given.get('work_dir') or f'work_dirs/sweeps/{name}',
        paper=dict(_dict(given, 'paper')))
    _check_values(sweep)
    return sweep


def need(fits: object, message: str) -> None:
    """Raise :class:`ConfigError` unless something fits."""
    if not fits:
        raise ConfigError(message)


def near(key: str, known: Iterable) -> str:
    """Which known name may have been meant, in brackets."""
    found = difflib.get_close_matches(key, known, 1)
    return f' (did you mean {found[0]!r}?)' if found else ''


def check_names(given: Mapping, known: tuple, where: str) -> None:
    """Refuse a name that is not known, and say which is near to it."""
    for key in given:
        need(key in known, f'Unknown name {key!r} in {where}'
             f'{near(key, known)}: known are {", ".join(known)}.')


def _at_scale(given: Mapping, path: Path, scale: str | None) -> dict:
    """The sweep with what a scale changes, all scales checked."""
    scales = _dict(given, 'scales')
    for name in scales:
        check_names(_dict(scales, name), KEYS[:-1], f'scales.{name}')
    given = {k: v for k, v in given.items() if k != 'scales'}
    if scale is None:
        return given
    known = ', '.join(map(repr, scales)) or 'none'
    need(scale in scales, f'{path} has no scale {scale!r}: it has {known}.')
    given['methods'] = {k: dict(config=v) if isinstance(v, str) else v
                        for k, v in _dict(given, 'methods').items()}
    return _merged(given, scales[scale])


def _merged(value: object, change: object) -> object:
    if not isinstance(value, Mapping) or not isinstance(change, Mapping):
        return change
    return {**value, **{k: _merged(value.get(k), v)
                        for k, v in change.items()}}


def _method(name: str, value: object, given: Mapping, folder: Path) -> Method:
    where = f'methods.{name}'
    value = dict(config=value) if isinstance(value, str) else value
    config = value.get('config') if isinstance(value, Mapping) else None
    need(config and isinstance(config, str), f'{where} has no config: give '
         'its path, or dict(config=..., grid=...).')
    check_names(value, METHOD_KEYS, where)
    path = os.path.normpath(folder / config_path(config))
    need(Path(path).is_file(), f'{where}: there is no config at {path}; paths '
         'start at the folder of the sweep file.')
    grid = {**_dict(given, 'grid'), **_dict(value, 'grid')}
    for key, values in grid.items():
        need(isinstance(values, (list, tuple)) and values,
             f'The grid of {where} needs a list of values for {key!r}, not '
             f'{values!r}.')
        place = TAKEN.get(key.partition('.')[0])
        need(place is None,
             f'The grid of {where} varies {key!r}: use {place} for that.')
    options = {**_dict(given, 'cfg_options'), **_dict(value, 'cfg_options')}
    for key, place in SET_HERE.items():
        need(key not in options,
             f'cfg_options sets {key!r}: use {place} for that.')
    return Method(name, path, grid, options, value.get('step_0'))


def _scenario(value: object) -> dict:
    if isinstance(value, str):
        return dict(name=value)
    if isinstance(value, Mapping):
        return dict(value)
    raise ConfigError(f'scenarios holds {value!r}: give names such as '
                      "'15-1', or dicts such as dict(name='15-1', "
                      "setting='disjoint').")


def _dict(given: Mapping, key: str) -> Mapping:
    value = given.get(key) or {}
    need(isinstance(value, Mapping), f'{key} is {value!r}: give a dict.')
    for name in value:
        need(name and isinstance(name, str),
             f'{key} holds the name {name!r}: give a text.')
    return value


def _list(given: Mapping, key: str, example: str) -> tuple:
    value = given.get(key)
    need(value is None or is_list(value),
         f'{key} is {value!r}: give a list, such as {example}.')
    return tuple(value or ())


def check_paper(paper: Mapping, names: list) -> None:
    """Refuse what no report could show beside the runs."""
    check_names(paper, PAPER_KEYS, 'paper')
    known = [name for name in FIGURES if name not in NEED_IMAGES]
    for figure in _list(paper, 'figures', "['apa_acf']"):
        need(figure in known, f'paper.figures holds {figure!r}: choose of '
             f'{", ".join(known)}.')
    scores = _dict(paper, 'scores')
    for method in scores:
        need(method in names, f'paper.scores holds {method!r}: give the name '
             f'of a method here ({", ".join(names)}).')
        for score, value in _dict(scores, method).items():
            pair = value if is_list(value) and len(value) == 2 else [value]
            need(all(map(is_number, pair)),
                 f'paper.scores.{method}.{score} is {value!r}: give a '
                 'number, or (mean, deviation).')


def _check_values(sweep: Sweep) -> None:
    names = [method.name for method in sweep.methods]
    check_paper(sweep.paper, names)
    for method in sweep.methods:
        need(method.step_0 in (None, *names),
             f'methods.{method.name}.step_0 is {method.step_0!r}: give the '
             f'name of another method here ({", ".join(names)}).')
    for seed in sweep.seeds:
        need(SEED.fits(seed), f'seeds holds {seed!r}: give whole numbers from '
             f'0 to {MOST_SEED}.')
    known = ', '.join(map(repr, SELECT))
    need(sweep.select in (None, *SELECT), f'select is {sweep.select!r}: give '
         f'one of {known}. Test scores select nothing.')
    need(sweep.select or all(len(values) == 1 for method in sweep.methods
                             for values in method.grid.values()),
         f'A grid needs a score that chooses: add select= one of {known}.')
    for name, value, kind in (('resources.cpus', sweep.cpus, CPUS),
                              ('resources.gpus', sweep.gpus, GPUS),
                              ('retries', sweep.retries, RETRIES),
                              ('work_dir', sweep.work_dir, PATH)):
        need(kind.fits(value), f'{name} is {value!r}: give {kind.words}.')
