"""Our own config keys, typos in them, and what single values may be.

The keys beside those of MMEngine's Runner are told in docs/configs.md.
MMEngine and torch would refuse most of the values as well, but in a traceback,
and some only when the step that uses them begins.
"""
import dataclasses
import difflib
import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping
from os import PathLike

from mmengine.runner import Runner

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.selfpaced import SelfPacedWeights
from mmseg_spwc.utils.options import (
    ABOVE_0,
    DICT,
    FLAG,
    NOT_NEGATIVE,
    POSITIVE,
    TEXT,
    WHOLE,
    Kind,
    is_list,
    is_number,
    is_positive,
    is_whole,
)

from .stages import GROUPS, STAGES, check_tables, is_stage

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

# NumPy takes 32 bits, and every step adds its number
MOST_SEED = 4_000_000_000
MOST_WORKERS = 1000  # each is a process
LEVELS = ('DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL')


def or_none(kind: Kind) -> Kind:
    """The same kind of value, or None."""
    return Kind(lambda v: v is None or kind.fits(v), kind.words)


def _is_pattern(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(re.compile(value))
    except re.error:
        return False


def _are_dicts(value: object) -> bool:
    return DICT.fits(value) or is_list(value) and all(map(DICT.fits, value))


PARTS = or_none(Kind(_are_dicts, 'a list of dicts'))
PATH = or_none(Kind(lambda v: isinstance(v, (str, PathLike)), 'a path'))
SEED = Kind(lambda v: is_whole(v) and 0 <= v <= MOST_SEED,
            f'a whole number from 0 to {MOST_SEED}')
SHARE = Kind(lambda v: is_number(v) and 0 <= v < 1,
             'a share from 0 to below 1')
POINTS = or_none(Kind(lambda v: is_number(v) and 0 <= v <= 100,
                      'points from 0 to 100'))
# mmseg's own configs keep a tuple here
CROP = or_none(Kind(lambda v: isinstance(v, (tuple, list)) or is_positive(v),
                    'the side of the crops, a whole number above 0'))
# torch does not take 0 and 1 for it
TRUE_OR_FALSE = Kind(lambda v: isinstance(v, bool), FLAG.words)
WORKERS = Kind(lambda v: is_whole(v) and 0 <= v <= MOST_WORKERS,
               f'a whole number, 0 or more and at most {MOST_WORKERS}')
LAUNCHERS = ('none', 'pytorch', 'slurm', 'mpi')
LEVEL = Kind(lambda v: v in LEVELS or is_whole(v),
             f'one of {", ".join(LEVELS)}')
# by dotted key, the outer before the inner; * is any name
VALUES = {
    **dict.fromkeys(('work_dir', 'data_root', 'cache_dir',
                     'backbone_weights', 'load_from',
                     'start_from.checkpoint'), PATH),
    'start_from': Kind(lambda v: PATH.fits(v) or DICT.fits(v),
                       'a path, or dict(checkpoint=..., classes=[...])'),
    'start_from.classes': or_none(Kind(
        lambda v: is_list(v) and all(map(TEXT.fits, v)), 'a list of names')),
    **dict.fromkeys(('resume', 'verbose', 'amp'), FLAG),
    'launcher': or_none(Kind(lambda v: v in LAUNCHERS,
                             f'one of {", ".join(LAUNCHERS)}')),
    'total_batch_size': or_none(POSITIVE),
    'crop_size': CROP,
    'heldout.ratio': SHARE,
    'heldout.seed': SEED,
    'accept': or_none(DICT),
    **dict.fromkeys(('accept.old_drop', 'accept.new_min'), POINTS),
    'self_paced.name': TEXT,
    'method.restart': or_none(FLAG),
    **dict.fromkeys(('model', 'model.backbone', 'model.data_preprocessor',
                     'model.losses', 'hooks', 'env_cfg'), DICT),
    **dict.fromkeys(('model.losses.*', 'hooks.*', 'visualizer'),
                    or_none(DICT)),
    **dict.fromkeys(('custom_hooks', 'param_scheduler', 'test_evaluator'),
                    PARTS),
    **dict.fromkeys(('runner_type', 'default_scope'), TEXT),
    'randomness': or_none(DICT),
    'randomness.seed': or_none(SEED),
    'model_wrapper_cfg': or_none(DICT),
    'model_wrapper_cfg.units': or_none(
        Kind(_is_pattern, 'a regular expression')),
    'log_level': LEVEL,
    'log_processor': or_none(DICT),
    'log_processor.window_size': WHOLE,
    'default_hooks': or_none(DICT),
    'default_hooks.*': or_none(DICT),
    'default_hooks.checkpoint.interval': WHOLE,
    'default_hooks.checkpoint.max_keep_ckpts': WHOLE,
    'default_hooks.logger.interval': POSITIVE,
    'train_cfg': DICT,
    **dict.fromkeys((f'train_cfg.{name}' for name in (
        'max_epochs', 'max_iters', 'min_iters', 'val_interval',
        'val_begin')), POSITIVE),
    'optim_wrapper': DICT,
    'optim_wrapper.accumulative_counts': POSITIVE,
    'optim_wrapper.clip_grad': or_none(DICT),
    'optim_wrapper.clip_grad.max_norm': ABOVE_0,
    'optim_wrapper.optimizer': DICT,
    'optim_wrapper.optimizer.lr': NOT_NEGATIVE,
    'optim_wrapper.optimizer.momentum': SHARE,
    'optim_wrapper.optimizer.weight_decay': NOT_NEGATIVE,
}
for _name in ('train_dataloader', 'val_dataloader', 'test_dataloader'):
    VALUES.update({
        _name: DICT if _name != 'val_dataloader' else or_none(DICT),
        f'{_name}.dataset': DICT,
        f'{_name}.batch_size': POSITIVE,
        f'{_name}.num_workers': WORKERS,
        f'{_name}.drop_last': TRUE_OR_FALSE,
        f'{_name}.persistent_workers': FLAG,
        f'{_name}.prefetch_factor': or_none(POSITIVE),
    })


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


def check_option_names(given: Mapping, takes: Callable, where: str,
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
        if key == '_scope_':  # MMEngine's, where a base is `mmseg::...`
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


def check_single_values(cfg: Mapping) -> None:
    """Raise :class:`ConfigError` for a value that no run can use."""
    for key, kind in VALUES.items():
        for where, value in _found(cfg, key):
            if not kind.fits(value):
                raise ConfigError(f'{where} is {value!r}: give {kind.words}.')


def _found(cfg: Mapping, key: str) -> Iterator[tuple]:
    """Every place of a config that a dotted key names, and its value."""
    places = [('', dict(cfg.items()))]
    for word in key.split('.'):
        places = [
            (f'{where}.{name}', part[name])
            for where, part in places if isinstance(part, Mapping)
            for name in (part if word == '*' else [word]) if name in part
        ]
    return ((where[1:], value) for where, value in places)


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
