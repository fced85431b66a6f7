"""From stored steps to one penalty: which steps, around which anchor."""
import contextlib
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping

from safetensors import SafetensorError, safe_open

from .quadratic import QuadraticPenalty, Step
from .store import StepStore

Prepare = Callable[[Mapping], Mapping]

FORMAT = 'mmseg_spwc.penalty/1'
EVERY = 32  # steps after which a penalty is kept anew


class PerStepForm:
    """Every step around its own anchor, as in the paper.

    Where all steps weigh the same, as without spWC, a step's penalty is that
    of the step before and one term more. It is kept in a file and continued,
    to the same bits, while the weights and files of its steps are the same.
    """

    one_anchor = False  # whether the anchors of older steps are let go

    def __call__(self, store: StepStore, weights: Mapping[int, float],
                 prepare: Prepare) -> QuadraticPenalty:
        """``weights`` are of the steps in the store; ``prepare`` turns stored
        importances into those of the penalty."""
        recipe = [_described(self), _described(prepare)]
        penalty, count = _kept(store, weights, recipe)
        rest = dict(itertools.islice(weights.items(), count, None))
        self.extend(penalty, store, rest, prepare)
        if len(weights) % EVERY == 0 and len(set(weights.values())) == 1:
            store.write(store.directory / 'penalty.safetensors',
                        penalty.state_dict(), _header(store, weights, recipe))
        return penalty

    def extend(self, penalty: QuadraticPenalty, store: StepStore,
               weights: Mapping[int, float], prepare: Prepare) -> None:
        """Add the steps to a penalty of those before them."""
        penalty.add_all(_loaded(store, weights, prepare))


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


def _kept(store: StepStore, weights: Mapping[int, float],
          recipe: list) -> tuple[QuadraticPenalty, int]:
    """The penalty that was kept and the number of steps in it, or none."""
    penalty = QuadraticPenalty()
    # one open file: another process may replace it meanwhile
    with contextlib.suppress(FileNotFoundError, SafetensorError), \
            safe_open(store.directory / 'penalty.safetensors',
                      framework='pt') as file:
        header = file.metadata() or {}
        count = int(header.get('steps', 0))
        first = dict(itertools.islice(weights.items(), count))
        if header == _header(store, first, recipe):
            penalty.load_state_dict(
                {key: file.get_tensor(key) for key in file.keys()})  # noqa: SIM118
            return penalty, count
    return penalty, 0


def _header(store: StepStore, weights: Mapping[int, float],
            recipe: list) -> dict[str, str]:
    facts = [(step, weight, *store.stamp(step))
             for step, weight in weights.items()]
    text = json.dumps([recipe, facts])
    return dict(format=FORMAT, steps=str(len(weights)),
                digest=hashlib.sha256(text.encode()).hexdigest())


def _described(part: object) -> list:
    """Name and plain attributes, of a method those of its object."""
    owner = getattr(part, '__self__', part)
    own = getattr(owner, '__dict__', {})
    plain = {key: value for key, value in own.items()
             if isinstance(value, int | float | str | None)}
    return [getattr(part, '__qualname__', ''), type(owner).__qualname__,
            plain]
