"""The config keys of mmseg_spwc itself, and what tells a typo from them.

What single values may be is in :mod:`.config_values`.

Beside the keys of MMEngine's Runner a config of ours has these:

===================  ====================================================
``scenario``         what is learnt when (``mmseg_spwc.scenario``)
``method``           overrides of the step's config that make the method
``schedule``         overrides that differ between steps (lr, epochs)
``self_paced``       spWC's options, or absent
``total_batch_size`` images per step of the optimiser, over all ranks
``heldout``          ``ratio`` and ``seed`` of the slice that scores units
``data_root``        root of the datasets, put into each of them
``crop_size``        side of the crops, put into our own transforms
``cache_dir``        where class indices are kept
``keep_decoded``     gigabytes in which a step's decoded images are kept
``backbone_weights`` file or URL the backbone starts from at step 0
``start_from``       a trained model that replaces the first steps
``accept``           how good a step must be to be shipped
``amp``              train in mixed precision, as ``--amp`` does
``verbose``          show MMEngine's own lines, as ``--verbose`` does
===================  ====================================================
"""
import dataclasses
import difflib
import inspect
import os
from collections.abc import Callable, Mapping

from mmengine.runner import Runner

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.selfpaced import SelfPacedWeights
from mmseg_spwc.utils.options import is_number

from .stages import GROUPS, STAGES, check_tables, is_stage
from .values import check_single_values

KEYS = ('scenario', 'method', 'schedule', 'self_paced', 'total_batch_size',
        'heldout', 'data_root', 'crop_size', 'cache_dir', 'keep_decoded',
        'backbone_weights', 'start_from', 'verbose', 'amp', 'accept')
INNER_KEYS = dict(
    method=('name', 'restart', 'run', *STAGES),
    schedule=STAGES,
    heldout=('ratio', 'seed'),
    accept=('old_drop', 'new_min'),
    self_paced=('name', 'unit', 'background', 'update', 'on',
                *(f.name for f in dataclasses.fields(SelfPacedWeights))))
REQUIRED = ('scenario', 'method', 'model', 'train_dataloader',
            'test_dataloader', 'train_cfg', 'optim_wrapper')
MMENGINES = tuple(inspect.signature(Runner).parameters)
KNOWN = (*KEYS, *MMENGINES)


def check_keys(cfg: Mapping) -> None:
    """Raise :class:`ConfigError` for a missing or misspelt key.

    A value that none of them can have is refused as well.

    Free names at the top level are common in MMEngine configs, so there only
    names that look like a key are refused; inside our own dicts every unknown
    key is.
    """
    for key in REQUIRED:
        if cfg.get(key) is None:
            others = [name for name in cfg if name != key]
            near = difflib.get_close_matches(key, others, 1, 0.75)
            hint = f' (is {near[0]!r} a typo?)' if near else ''
            raise ConfigError(
                f'The config has no {key!r}{hint}; a run needs '
                f'{", ".join(REQUIRED)}.')
    for key in (*REQUIRED, *INNER_KEYS):
        _check_dict(cfg.get(key), key)
    check_tables(cfg, KNOWN)
    check_single_values(cfg)
    for key in cfg:
        near = _meant(key)
        if near:
            raise ConfigError(f'Unknown config key {key!r}; did you mean '
                              f'{near!r}?')
    for name, allowed in INNER_KEYS.items():
        _check_inner(cfg.get(name) or {}, name, allowed)
    start = cfg.get('start_from')
    if isinstance(start, Mapping):
        _check_inner(start, 'start_from', ('checkpoint', 'classes'))
        if not start.get('checkpoint'):
            raise ConfigError('start_from has no checkpoint: give its path.')
    for name in GROUPS:
        for stage in STAGES:
            _check_dict((cfg.get(name) or {}).get(stage), f'{name}.{stage}')
    if cfg.get('cfg') is not None:
        raise ConfigError('The key cfg has no effect in a config: put what '
                          'it holds beside it.')
    name = cfg['method'].get('name')
    if not name or not isinstance(name, str):
        raise ConfigError('The method has no name: set method=dict(name=...) '
                          f'to a text, not {name!r}.')


def _meant(key: str) -> str | None:
    """The key that a free name is a misspelling of, if it looks like one."""
    if key in KNOWN:
        return None
    near = difflib.get_close_matches(key, KEYS, 1, 0.85)
    # a name that goes on after MMEngine's is a variant, not a misspelling
    near += [name for name in difflib.get_close_matches(
        key, MMENGINES, 1, 0.92) if not key.startswith(name)]
    return near[0] if near else None


def check_options(given: Mapping, takes: Callable, where: str,
                  others: tuple = ()) -> None:
    """Refuse a misspelt option of a part that MMEngine builds late.

    The part is called with what is given, but for ``others``.
    """
    known = inspect.signature(takes).parameters
    if all(p.kind is not p.VAR_KEYWORD for p in known.values()):
        _check_inner(given, where, (*known, *others))


def _check_inner(inner: Mapping, name: str, allowed: tuple) -> None:
    staged = name in GROUPS
    for key in inner:
        if key in allowed or staged and is_stage(key):
            continue
        near = difflib.get_close_matches(key, allowed, 1)
        hint = f'did you mean {near[0]!r}? ' if near else ''
        raise ConfigError(
            f'Unknown key {key!r} in {name}: {hint}The keys are '
            f'{", ".join(allowed)}'
            f'{" and step_1, step_2, ..." if staged else ""}.')


def _check_dict(value: object, key: str) -> None:
    if value is not None and not isinstance(value, Mapping):
        raise ConfigError(f'{key} is {value!r}: give a dict.')


def check_values(cfg: Mapping) -> None:
    """Raise :class:`ConfigError` for values that do not go together."""
    _check_room(cfg.get('keep_decoded'))
    _check_crop(cfg.get('crop_size'))
    run = cfg['method'].get('run')
    if run not in (None, 'first', 'last'):
        raise ConfigError(f"method.run is {run!r}: it can be 'first' or "
                          "'last', to train that step alone; else leave it "
                          'out.')
    if cfg.get('load_from') and cfg.get('start_from'):
        raise ConfigError(
            'load_from gives step 0 its first weights, and start_from takes '
            'its place: leave one of them out.')
    if cfg.get('self_paced') and not (cfg.get('heldout') or {}).get('ratio'):
        raise ConfigError('self_paced needs scores on a held-out slice: set '
                          'heldout.ratio above 0, such as 0.1.')


def _check_room(gigabytes: object) -> None:
    if gigabytes is None:
        return
    if not is_number(gigabytes) or gigabytes < 0:
        raise ConfigError(f'keep_decoded is {gigabytes!r}: give gigabytes, 0 '
                          'or more.')
    if gigabytes > _memory():
        raise ConfigError(f'keep_decoded is {gigabytes!r}, and this machine '
                          f'has {_memory():.0f} GB of memory: give fewer.')


def _check_crop(side: object) -> None:
    gigabytes = 12 * side**2 / 1e9 if isinstance(side, int) else 0
    if gigabytes > _memory():
        raise ConfigError(f'crop_size is {side}, so one crop takes '
                          f'{gigabytes:.3g} GB, and this machine has '
                          f'{_memory():.0f} GB of memory: give fewer pixels.')


def _memory() -> float:
    """Gigabytes of this machine."""
    return os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 1e9
