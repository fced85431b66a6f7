"""Values of the config keys of mmseg_spwc that can be judged at once."""
from collections.abc import Mapping
from numbers import Integral, Real

from .config_keys import ConfigError


def check_values(cfg: Mapping) -> None:
    """Raise :class:`ConfigError` for a value that no run can use.

    Args:
        cfg (Mapping): The config of the sequence; its keys are right
            (:func:`~mmseg_spwc.engine.config_keys.check_keys`).
    """
    total = cfg.get('total_batch_size')
    if total is not None and not _is_positive(total):
        raise ConfigError(f'total_batch_size is {total!r}: give a whole '
                          'number above 0.')
    ratio = (cfg.get('heldout') or {}).get('ratio', 0)
    if not isinstance(ratio, Real) or not 0 <= ratio < 1:
        raise ConfigError(f'heldout.ratio is {ratio!r}: give a share from 0 '
                          'to below 1.')
    crop = cfg.get('crop_size')  # mmseg's own configs keep a tuple here
    if not isinstance(crop, (tuple, list, type(None))) and \
            not _is_positive(crop):
        raise ConfigError(f'crop_size is {crop!r}: give the side of the '
                          'crops, a whole number above 0.')
    run = cfg['method'].get('run')
    if run not in (None, 'last'):
        raise ConfigError(f"method.run is {run!r}: it can be 'last', to "
                          'train the last step alone; else leave it out.')
    if cfg.get('self_paced') and not ratio:
        raise ConfigError('self_paced needs scores on a held-out slice: set '
                          'heldout.ratio above 0, such as 0.1.')


def check_length(train_cfg: Mapping) -> None:
    """Refuse a training that would end before it begins.

    Args:
        train_cfg (Mapping): That of one step.
    """
    for key in ('max_epochs', 'max_iters'):
        if key in train_cfg and not _is_positive(train_cfg[key]):
            raise ConfigError(f'train_cfg.{key} is {train_cfg[key]!r}: give '
                              'a whole number above 0.')


def _is_positive(value: object) -> bool:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    return whole and value > 0
