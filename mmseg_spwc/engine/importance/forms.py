"""From stored tasks to one penalty: which tasks, around which anchor."""
from collections.abc import Callable, Mapping

from mmseg_spwc.consolidation import QuadraticPenalty, TaskStore

Prepare = Callable[[Mapping], Mapping]


def every_task(store: TaskStore, weights: Mapping[int, float],
               prepare: Prepare, decay: float) -> QuadraticPenalty:
    """Every task around its own anchor, as in the paper."""
    penalty = QuadraticPenalty()
    for task, weight in weights.items():
        if weight:
            importances, anchors = store.load(task)
            penalty.add(weight, prepare(importances), anchors)
    return penalty


def online(store: TaskStore, weights: Mapping[int, float], prepare: Prepare,
           decay: float) -> QuadraticPenalty:
    """The tasks' importances added up around the newest anchor."""
    penalty = QuadraticPenalty()
    for task, weight in weights.items():
        importances, anchors = store.load(task)
        penalty.add_online(weight, prepare(importances), anchors, decay)
    return penalty


def newest_task(store: TaskStore, weights: Mapping[int, float],
                prepare: Prepare, decay: float) -> QuadraticPenalty:
    """The newest task alone."""
    newest = max(weights)
    return every_task(store, {newest: weights[newest]}, prepare, decay)


FORMS = dict(task=every_task, online=online, last=newest_task)
