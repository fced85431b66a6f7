"""Registries of scope ``mmseg_spwc``, children of MMEngine's root nodes.

They are siblings of mmseg's and mmpretrain's registries, so that one type,
written ``mmseg_spwc.X`` in a config, is found under either default scope.
Rooms that know nothing of OpenMMLab are registered by the engine.
"""
import contextlib
from collections.abc import Iterable, Mapping
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
from mmengine.registry import TASK_UTILS as MMENGINE_TASK_UTILS
from mmengine.registry import TRANSFORMS as MMENGINE_TRANSFORMS
from mmengine.registry import VISBACKENDS as MMENGINE_VISBACKENDS
from mmengine.registry import Registry

from mmseg_spwc import compat  # noqa: F401
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
TASK_UTILS = _child(MMENGINE_TASK_UTILS, 'engine')
PARAM_SCHEDULERS = _child(MMENGINE_PARAM_SCHEDULERS, 'engine')
LOG_PROCESSORS = _child(MMENGINE_LOG_PROCESSORS, 'terminal')
VISBACKENDS = _child(MMENGINE_VISBACKENDS, 'trackers')
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
