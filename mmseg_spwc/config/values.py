"""What single values of a config may be, ours and MMEngine's.

MMEngine and torch would refuse most of them as well, but in a traceback, and
some only when the step that uses them begins.
"""
import re
from collections.abc import Iterator, Mapping
from os import PathLike

from mmseg_spwc.errors import ConfigError
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
