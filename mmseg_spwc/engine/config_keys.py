"""The config keys of mmseg_spwc itself, and what tells a typo from them.

Beside the keys of MMEngine's Runner a config of ours has these:

===================  ====================================================
``scenario``         what is learnt when (``mmseg_spwc.scenario``)
``method``           overrides of the step's config that make the method
``schedule``         overrides that differ between steps (lr, epochs)
``self_paced``       spWC's options, or absent
``total_batch_size`` images a step of the optimiser sees, over all ranks
``heldout``          ``ratio`` and ``seed`` of the slice that scores units
``data_root``        root of the data sets, put into each of them
``crop_size``        side of the crops, put into our own transforms
``cache_dir``        where class indices are kept
``backbone_weights`` file or URL the backbone starts from at step 0
``start_from``       finished step-0 checkpoint that replaces step 0
===================  ====================================================
"""
import contextlib
import dataclasses
import difflib
import pickle
import re
from collections.abc import Iterator, Mapping

from mmseg_spwc.selfpaced import SelfPacedWeights

KEYS = ('scenario', 'method', 'schedule', 'self_paced', 'total_batch_size',
        'heldout', 'data_root', 'crop_size', 'cache_dir',
        'backbone_weights', 'start_from')
STAGES = ('every', 'first', 'later')
INNER_KEYS = dict(
    method=('name', 'restart', 'run', *STAGES),
    schedule=STAGES,
    heldout=('ratio', 'seed'),
    self_paced=('name', 'unit', 'background', 'update',
                *(f.name for f in dataclasses.fields(SelfPacedWeights))))
REQUIRED = ('scenario', 'method', 'model', 'train_dataloader',
            'test_dataloader', 'train_cfg', 'optim_wrapper')


class ConfigError(ValueError):
    """A config is wrong; the message says where and what to do."""


@contextlib.contextmanager
def input_errors(what: str) -> Iterator[None]:
    """Turn errors of the input in a block into :class:`ConfigError`."""
    try:
        yield
    except ConfigError:
        raise
    except AttributeError as error:
        if not isinstance(error.obj, Mapping):  # no config was asked
            raise
        raise ConfigError(f'{what}: {_missing(error.name)}') from error
    except (LookupError, OSError, TypeError, ValueError,
            pickle.UnpicklingError) as error:
        raise ConfigError(f'{what}: {_reason(error)}') from error


def _reason(error: Exception) -> str:
    if not isinstance(error, KeyError):
        return str(error)
    text = str(error.args[0])
    return _missing(text) if text.isidentifier() else text


def _missing(key: str) -> str:
    return f'the key {key!r} is missing; give it a value.'


def check_keys(cfg: Mapping) -> None:
    """Raise :class:`ConfigError` for a missing or misspelt key.

    Free names at the top level are common in MMEngine configs, so there only
    names that look like one of ours are refused; inside our own dicts every
    unknown key is.
    """
    for key in REQUIRED:
        if cfg.get(key) is None:
            near = difflib.get_close_matches(key, cfg, 1, 0.75)
            hint = f' (is {near[0]!r} a typo?)' if near else ''
            raise ConfigError(
                f'The config has no {key!r}{hint}; a run needs '
                f'{", ".join(REQUIRED)}.')
    for key in (*REQUIRED, *INNER_KEYS):
        _check_dict(cfg.get(key), key)
    for key in cfg:
        near = difflib.get_close_matches(key, KEYS, 1, 0.85)
        if near and key not in KEYS:
            raise ConfigError(f'Unknown config key {key!r}; did you mean '
                              f'{near[0]!r}?')
    for name, allowed in INNER_KEYS.items():
        for key in cfg.get(name) or {}:
            staged = 'first' in allowed and re.fullmatch(r'step_\d+', key)
            if key not in allowed and not staged:
                near = difflib.get_close_matches(key, allowed, 1)
                hint = f'did you mean {near[0]!r}? ' if near else ''
                raise ConfigError(
                    f'Unknown key {key!r} in {name}: {hint}Known are '
                    f'{", ".join(allowed)}'
                    f'{" and step_1, step_2, ..." if staged is None else ""}.')
        for stage in STAGES if 'first' in allowed else ():
            _check_dict((cfg.get(name) or {}).get(stage), f'{name}.{stage}')
    if not cfg['method'].get('name'):
        raise ConfigError("The method has no name: set method=dict(name=...).")


def _check_dict(value: object, key: str) -> None:
    if value is not None and not isinstance(value, Mapping):
        raise ConfigError(f'{key} is {value!r}: give a dict.')


def overrides(group: Mapping | None, stage: str, step: int) -> list:
    """Return the overrides of ``method`` or ``schedule`` for a step.

    Args:
        group (Mapping, optional): Dict with ``every``, ``first``, ``later``
            and ``step_N``; the more special one wins.
        stage (str): ``'first'`` or ``'later'``.
        step (int): The step.

    Returns:
        list[dict]: In the order in which they are to be merged.
    """
    group = group or {}
    names = ('every', stage, f'step_{step}')
    return [group[name] for name in names if group.get(name)]
