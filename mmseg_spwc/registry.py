"""Registries of scope ``mmseg_spwc``, children of MMEngine's root nodes.

They are siblings of mmseg's and mmpretrain's registries, so that one type,
written ``mmseg_spwc.X`` in a config, is found under either default scope.
"""
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
from mmengine.registry import RUNNERS as MMENGINE_RUNNERS
from mmengine.registry import TRANSFORMS as MMENGINE_TRANSFORMS
from mmengine.registry import VISBACKENDS as MMENGINE_VISBACKENDS
from mmengine.registry import Registry


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
HOOKS = _child(MMENGINE_HOOKS, 'engine')
LOOPS = _child(MMENGINE_LOOPS, 'engine')
MODEL_WRAPPERS = _child(MMENGINE_MODEL_WRAPPERS, 'engine')
OPTIM_WRAPPERS = _child(MMENGINE_OPTIM_WRAPPERS, 'engine')
LOG_PROCESSORS = _child(MMENGINE_LOG_PROCESSORS, 'engine')
VISBACKENDS = _child(MMENGINE_VISBACKENDS, 'engine')
