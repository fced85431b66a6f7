"""Registries of scope ``mmseg_spwc``, children of MMEngine's root nodes.

They are siblings of mmseg's and mmpretrain's registries, so that one type,
written ``mmseg_spwc.X`` in a config, is found under either default scope.
The last ones are of kinds that MMEngine does not know.
"""
import contextlib
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from mmengine.registry import DATA_SAMPLERS as MMENGINE_DATA_SAMPLERS
from mmengine.registry import DATASETS as MMENGINE_DATASETS
from mmengine.registry import EVALUATOR as MMENGINE_EVALUATOR
from mmengine.registry import FUNCTIONS as MMENGINE_FUNCTIONS
from mmengine.registry import HOOKS as MMENGINE_HOOKS
from mmengine.registry import LOG_PROCESSORS as MMENGINE_LOG_PROCESSORS
from mmengine.registry import LOOPS as MMENGINE_LOOPS
from mmengine.registry import METRICS as MMENGINE_METRICS
from mmengine.registry import MODEL_WRAPPERS as MMENGINE_MODEL_WRAPPERS
from mmengine.registry import MODELS as MMENGINE_MODELS
from mmengine.registry import OPTIM_WRAPPERS as MMENGINE_OPTIM_WRAPPERS
from mmengine.registry import PARAM_SCHEDULERS as MMENGINE_PARAM_SCHEDULERS
from mmengine.registry import RUNNERS as MMENGINE_RUNNERS
from mmengine.registry import TRANSFORMS as MMENGINE_TRANSFORMS
from mmengine.registry import VISBACKENDS as MMENGINE_VISBACKENDS
from mmengine.registry import Registry

from mmseg_spwc.utils.options import check_options


def _child(parent: Registry, *locations: str) -> Registry:
    return Registry(
        parent.name,
        parent=parent,
        scope='mmseg_spwc',
        locations=[f'mmseg_spwc.{location}' for location in locations])


DATASETS = _child(MMENGINE_DATASETS, 'datasets')
TRANSFORMS = _child(MMENGINE_TRANSFORMS, 'datasets')
DATA_SAMPLERS = _child(MMENGINE_DATA_SAMPLERS, 'datasets')
FUNCTIONS = _child(MMENGINE_FUNCTIONS, 'datasets')
MODELS = _child(MMENGINE_MODELS, 'models')
METRICS = _child(MMENGINE_METRICS, 'evaluation.iou', 'evaluation.accuracy')
EVALUATOR = _child(MMENGINE_EVALUATOR, 'evaluation.accuracy')
RUNNERS = _child(MMENGINE_RUNNERS, 'engine')
HOOKS = _child(MMENGINE_HOOKS, 'engine', 'terminal')
LOOPS = _child(MMENGINE_LOOPS, 'engine')
MODEL_WRAPPERS = _child(MMENGINE_MODEL_WRAPPERS, 'engine')
OPTIM_WRAPPERS = _child(MMENGINE_OPTIM_WRAPPERS, 'engine')
PARAM_SCHEDULERS = _child(MMENGINE_PARAM_SCHEDULERS, 'engine')
LOG_PROCESSORS = _child(MMENGINE_LOG_PROCESSORS, 'terminal')
VISBACKENDS = _child(MMENGINE_VISBACKENDS, 'trackers')
CHILDREN = (DATASETS, TRANSFORMS, DATA_SAMPLERS, FUNCTIONS, MODELS, METRICS,
            EVALUATOR, HOOKS, LOOPS, OPTIM_WRAPPERS, LOG_PROCESSORS,
            VISBACKENDS)


def check_parts_in(values: Iterable) -> None:
    """Refuse wrong types of options of our parts, wherever they are.

    Args:
        values (Iterable): Those of a config, or of a piece of one.

    Raises:
        OptionError: See :func:`~mmseg_spwc.utils.options.check_options`.
    """
    for value in values:
        if isinstance(value, Mapping):
            _check_part(value)
            check_parts_in(value.values())
        # lists of other things can be long: the steps of a scenario
        elif isinstance(value, list) and isinstance(next(iter(value), None),
                                                    Mapping):
            check_parts_in(value)


def _check_part(cfg: Mapping) -> None:
    scope, _, name = str(cfg.get('type')).rpartition('.')
    for registry in CHILDREN if scope == 'mmseg_spwc' else ():
        if name in registry.module_dict:
            part = registry.module_dict[name]
            check_options(part, cfg, getattr(part, 'known_as', None))


def build_own(cfg: str | dict, registry: Registry,
              renamed: Mapping[str, str]) -> Any:
    """Build a part of a kind that only this package has.

    MMEngine would look for a registry of the default scope first, and warn
    that mmseg has none of this kind.

    Args:
        cfg (str | dict): The type, or a dict with it and its arguments.
        registry (Registry): Where to look.
        renamed (Mapping[str, str]): New names by those of older versions.

    Returns:
        Any: The part.
    """
    options = dict(type=cfg) if isinstance(cfg, str) else dict(cfg)
    kind = options.pop('type', None)
    if kind in renamed:
        raise ValueError(f'the {registry.name} {kind!r} is written '
                         f'{renamed[kind]!r} now: change the config.')
    part = kind
    with contextlib.suppress(RuntimeError):  # not found as a path either
        part = registry.get(kind) if isinstance(kind, str) else kind
    if not callable(part):
        known = ', '.join(sorted(registry.module_dict))
        raise ValueError(f'the {registry.name} is one of {known}, not '
                         f'{kind!r}; custom_imports adds your own.')
    check_options(part, options)
    return part(**options)


def _own(name: str, location: str, **renamed: str) -> Registry:
    return Registry(
        name,
        build_func=partial(build_own, renamed=renamed),
        scope='mmseg_spwc',
        locations=[f'mmseg_spwc.{location}'])


IMPORTANCES = _own(
    'importance',
    'consolidation',
    fisher='mmseg_spwc.FisherImportance',
    mas='mmseg_spwc.MASImportance',
    si='mmseg_spwc.SIImportance',
    ema='mmseg_spwc.EMAImportance')
PENALTY_FORMS = _own('penalty form', 'consolidation', task='per_step')
PENALTY_UPDATES = _own('penalty update', 'consolidation')
