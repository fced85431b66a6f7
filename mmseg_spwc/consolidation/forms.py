"""From stored steps to one penalty: which steps, around which anchor."""
from collections.abc import Callable, Iterator, Mapping

from mmseg_spwc.registry import PENALTY_FORMS

from .kept import KeptPenalty
from .quadratic import QuadraticPenalty, Step
from .store import StepStore

Prepare = Callable[[Mapping], Mapping]


@PENALTY_FORMS.register_module('per_step')
class PerStepForm:
    """Every step around its own anchor, as in the paper.

    Called with the store, the weight of every step in it, and what turns
    stored importances into those of the penalty. The steps that an earlier
    call has added with the same weights are not read again.
    """

    one_anchor = False  # whether the anchors of older steps are let go

    def __call__(self, store: StepStore, weights: Mapping[int, float],
                 prepare: Prepare) -> QuadraticPenalty:
        kept = KeptPenalty(store, (self, prepare))
        penalty, rest = kept.resume(weights)
        self.extend(penalty, store, rest, prepare)
        kept.update(penalty, weights)
        return penalty

    def extend(self, penalty: QuadraticPenalty, store: StepStore,
               weights: Mapping[int, float], prepare: Prepare) -> None:
        """Add the steps to a penalty of those before them."""
        penalty.add_all(_loaded(store, weights, prepare))


@PENALTY_FORMS.register_module('online')
class OnlineForm(PerStepForm):
    r"""Importances added up around the newest anchor.

    Args:
        decay: Factor :math:`\gamma` on older importances. Defaults to 1.
    """

    one_anchor = True

    def __init__(self, decay: float = 1.) -> None:
        if not decay >= 0:
            raise ValueError(f'decay must not be negative, got {decay}')
        self.decay = decay

    def extend(self, penalty: QuadraticPenalty, store: StepStore,
               weights: Mapping[int, float], prepare: Prepare) -> None:
        for step, weight in weights.items():
            importances, anchors = store.load(step)
            penalty.add_online(weight, prepare(importances), anchors,
                               self.decay)


@PENALTY_FORMS.register_module('last')
class LastForm(PerStepForm):
    """The newest step alone."""

    one_anchor = True

    def __call__(self, store: StepStore, weights: Mapping[int, float],
                 prepare: Prepare) -> QuadraticPenalty:
        penalty, newest = QuadraticPenalty(), max(weights)
        self.extend(penalty, store, {newest: weights[newest]}, prepare)
        return penalty


def _loaded(store: StepStore, weights: Mapping[int, float],
            prepare: Prepare) -> Iterator[Step]:
    for step, weight in weights.items():
        if weight:
            importances, anchors = store.load(step)
            yield weight, prepare(importances), anchors
