"""How long a step is: its epochs or iterations, and its schedulers."""
from collections.abc import Mapping

from mmengine.config import Config

from mmseg_spwc.errors import ConfigError


def check_length(train_cfg: Mapping) -> None:
    """Refuse a least number of iterations beside a fixed one."""
    if 'min_iters' in train_cfg and 'max_epochs' not in train_cfg:
        raise ConfigError(
            'train_cfg.min_iters goes with max_epochs: with max_iters a step '
            'is as long as that says. Leave it out, or count in epochs.')


def set_length(out: Config, given: Mapping) -> None:
    """End validation and schedulers of a step with its training, in place.

    Schedulers that say when they begin and end, as those of mmseg's configs
    do, are shortened or stretched with a step of another length.

    Args:
        out (Config): The config of the step.
        given (Mapping): The config of the sequence.
    """
    by_epoch = 'max_epochs' in out.train_cfg
    length = out.train_cfg['max_epochs' if by_epoch else 'max_iters']
    if 'val_interval' not in out.train_cfg:
        # units are scored after the end of a step, not inside it
        out.train_cfg.update(val_interval=length + 1, val_begin=length + 1)
    schedulers = _as_list(out.get('param_scheduler'))
    if schedulers == _as_list(given.get('param_scheduler')):
        _stretch(schedulers, by_epoch, given['train_cfg'].get(
            'max_epochs' if by_epoch else 'max_iters'), length)
    for scheduler in schedulers:
        if not by_epoch and not scheduler.keys() & {'begin', 'end'} and \
                scheduler.pop('convert_to_iter_based', False):
            scheduler['by_epoch'] = False  # else it would last for epochs
        if not (by_epoch and _counts_iterations(scheduler)):
            scheduler.setdefault('end', length)
    out.param_scheduler = schedulers


def _as_list(schedulers: Mapping | list | None) -> list:
    return [schedulers] if isinstance(schedulers, Mapping) else \
        schedulers or []


def _stretch(schedulers: list, by_epoch: bool, old: int | None,
             new: int) -> None:
    """Keep the share of the training that each of some schedulers has."""
    alike = [s for s in schedulers if _counts_iterations(s) != by_epoch]
    if old in (None, new) or all(s.get('end') != old for s in alike):
        return
    for scheduler in alike:
        for key, least in (('begin', 0), ('end', 1)):
            if scheduler.get(key) is not None:
                scheduler[key] = max(least, scheduler[key] * new // old)


def settle_length(out: Config, per_epoch: int) -> None:
    """Say how long a step of epochs is, now that its images are counted.

    With ``train_cfg.min_iters`` it gets as many whole epochs as that many
    iterations take, if ``max_epochs`` are fewer. Schedulers that would have
    ended with the training still do, and one that counts iterations and
    names no end ends with it.
    """
    train = out.train_cfg
    old, least = train.max_epochs, train.pop('min_iters', 0)
    train.max_epochs = new = max(old, -(-least // per_epoch))
    for key in ('val_interval', 'val_begin'):
        if train.get(key) == old + 1:  # as set above: after the end
            train[key] = new + 1
    for scheduler in out.param_scheduler:
        size = per_epoch if _counts_iterations(scheduler) else 1
        if scheduler.get('end', old * size) == old * size:
            scheduler['end'] = new * size


def _counts_iterations(scheduler: Mapping) -> bool:
    return not scheduler.get('by_epoch', True)
