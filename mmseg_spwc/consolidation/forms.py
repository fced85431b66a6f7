"""From stored steps to one penalty: which steps, around which anchor."""
from collections.abc import Callable, Mapping

from mmseg_spwc.registry import PENALTY_FORMS

from .quadratic import QuadraticPenalty
from .store import StepStore

Prepare = Callable[[Mapping], Mapping]


@PENALTY_FORMS.register_module('per_step')
class PerStepForm:
    """Every step around its own anchor, as in the paper.

    Called with the store, the weight of every step in it, and what turns
    stored importances into those of the penalty.
    """

    one_anchor = False  # whether the anchors of older steps are let go

    def __call__(self, store: StepStore, weights: Mapping[int, float],
                 prepare: Prepare) -> QuadraticPenalty:
        penalty = QuadraticPenalty()
        for step, weight in weights.items():
            if weight:
                importances, anchors = store.load(step)
                penalty.add(weight, prepare(importances), anchors)
        return penalty


@PENALTY_FORMS.register_module('online')
class OnlineForm(PerStepForm):
    """The steps' importances added up around the newest anchor.

    Args:
        decay: Share of the older importances that remains at every step.
    """

    one_anchor = True

    def __init__(self, decay: float = 1.) -> None:
        if not decay >= 0:
            raise ValueError(f'decay must not be negative, got {decay}')
        self.decay = decay

    def __call__(self, store: StepStore, weights: Mapping[int, float],
                 prepare: Prepare) -> QuadraticPenalty:
        penalty = QuadraticPenalty()
        for step, weight in weights.items():
            importances, anchors = store.load(step)
            penalty.add_online(weight, prepare(importances), anchors,
                               self.decay)
        return penalty


@PENALTY_FORMS.register_module('last')
class LastForm(PerStepForm):
    """The newest step alone."""

    one_anchor = True

    def __call__(self, store: StepStore, weights: Mapping[int, float],
                 prepare: Prepare) -> QuadraticPenalty:
        newest = max(weights)
        return super().__call__(store, {newest: weights[newest]}, prepare)
