"""Registries of scope ``mmseg_spwc``, children of MMEngine's root nodes.

They are siblings of mmseg's and mmpretrain's registries, so that one type,
written ``mmseg_spwc.X`` in a config, is found under either default scope.
Rooms that know nothing of OpenMMLab are registered by the engine.
"""
import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

from mmengine import registry as parents
from mmengine.registry import Registry

from mmseg_spwc import compat  # noqa: F401
from mmseg_spwc.utils.options import check_options


def _child(parent: Registry, *locations: str) -> Registry:
    return Registry(
        parent.name, parent=parent, scope='mmseg_spwc',
        locations=[f'mmseg_spwc.{location}' for location in locations])


DATASETS = _child(parents.DATASETS, 'datasets')
TRANSFORMS = _child(parents.TRANSFORMS, 'datasets')
DATA_SAMPLERS = _child(parents.DATA_SAMPLERS, 'datasets')
FUNCTIONS = _child(parents.FUNCTIONS, 'datasets')
MODELS = _child(parents.MODELS, 'models')
METRICS = _child(parents.METRICS, 'evaluation.iou', 'evaluation.accuracy')
EVALUATOR = _child(parents.EVALUATOR, 'evaluation.accuracy')
RUNNERS = _child(parents.RUNNERS, 'engine')
HOOKS = _child(parents.HOOKS, 'engine', 'terminal')
LOOPS = _child(parents.LOOPS, 'engine')
MODEL_WRAPPERS = _child(parents.MODEL_WRAPPERS, 'engine')
OPTIM_WRAPPERS = _child(parents.OPTIM_WRAPPERS, 'engine')
TASK_UTILS = _child(parents.TASK_UTILS, 'engine')
PARAM_SCHEDULERS = _child(parents.PARAM_SCHEDULERS, 'engine')
LOG_PROCESSORS = _child(parents.LOG_PROCESSORS, 'terminal')
VISBACKENDS = _child(parents.VISBACKENDS, 'trackers')
CHILDREN = (DATASETS, TRANSFORMS, DATA_SAMPLERS, FUNCTIONS, MODELS, METRICS,
            EVALUATOR, HOOKS, LOOPS, MODEL_WRAPPERS, OPTIM_WRAPPERS,
            TASK_UTILS, LOG_PROCESSORS, VISBACKENDS)


def check_parts_in(values: Iterable) -> None:
    """Refuse wrong types of options of our parts, wherever they are."""
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


def build_part(cfg: str | dict, what: str, base: type) -> Any:
    """Build a part of a hook: an importance, or a penalty's form or update.

    ``cfg`` is the type, or a dict with it and its arguments; a name without a
    scope is one of this package. Messages call the part ``what`` and list
    those of the kind ``base``.
    """
    options = dict(type=cfg) if isinstance(cfg, str) else dict(cfg)
    part = kind = options.pop('type', None)
    with contextlib.suppress(RuntimeError):  # not found as a path either
        part = TASK_UTILS.get(kind) if isinstance(kind, str) else kind
    if not callable(part):
        known = ', '.join(sorted(
            name for name, part in TASK_UTILS.module_dict.items()
            if isinstance(part, type) and issubclass(part, base)))
        raise ValueError(f'the {what} is one of {known}, not {kind!r}; '
                         'custom_imports adds your own.')
    check_options(part, options)
    return part(**options)
