"""All that spWC decides at a step, from the scores of the steps so far."""
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from .weights import PriorityWeights, SelfPacedWeights

UNITS = ('class', 'step')
BACKGROUNDS = ('unit', 'keep')
Scores = Sequence[float | None]


@dataclass(frozen=True)
class SelfPacedChoice(SelfPacedWeights):
    """Which units are judged, by which of their scores, and how.

    Args:
        unit: What is scored and weighted: ``class``, background included
            where there is one, or ``step``.
        background: ``unit``, as in the paper: background is scored and
            weighted as any class. ``keep``: it is not a unit and has weight
            1.
    """
    unit: str | None = None
    background: str = 'unit'

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, known in (('unit', UNITS), ('background', BACKGROUNDS)):
            if getattr(self, name) not in known:
                raise ValueError(
                    f'self_paced.{name} is {known[0]!r} or {known[1]!r}, '
                    f'not {getattr(self, name)!r}.')

    def decide(self, history: Sequence[Scores],
               now: Scores | None = None) -> PriorityWeights:
        """Decide the weights of the step after those in ``history``.

        Args:
            history: For every step so far, the score of each unit known
                after it, oldest first; None where it was not measured.
            now: Scores measured since then, for ``update``. Defaults to the
                last of ``history``.
        """
        last = history[-1]
        now = list(last if now is None else now)[:len(last)]
        before = len(history[-2]) if len(history) > 1 else 0
        psi = [None, *now[1:]] if self.background == 'keep' else now
        return self(psi, step=len(history), best=best_of([*history, now]),
                    newest=len(last) - before)

    @classmethod
    def from_dict(cls, data: Mapping) -> 'SelfPacedChoice':
        """Build it from config options, or from a record's."""
        return cls(**_map_numbers(data, _number))

    def to_dict(self) -> dict:
        """All options as plain data for JSON, infinity as a text."""
        given = {k: v for k, v in asdict(self).items() if v is not None}
        return _map_numbers(given, _text)


def best_of(history: Sequence[Scores]) -> list:
    """The best score so far of every unit of the last row."""
    return [max((row[i] for row in history
                 if i < len(row) and row[i] is not None), default=None)
            for i in range(len(history[-1]))]


def weights_of(wanted: str, v: Tensor, unit: str,
               step_of_class: Sequence[int]) -> Tensor:
    """Turn weights of classes into those of steps, or the reverse.

    A step has the mean weight of its classes, a class that of its step.
    """
    if wanted == unit:
        return v
    steps = torch.tensor(step_of_class)
    if wanted == 'class':
        return v[steps]
    return torch.stack(
        [v[steps == s].mean() for s in range(int(steps.max()) + 1)])


def _map_numbers(data: Mapping, change) -> dict:
    return {key: _map_numbers(value, change) if isinstance(value, Mapping)
            else change(value) for key, value in data.items()}


def _text(value: object) -> object:
    infinite = isinstance(value, float) and math.isinf(value)
    return str(value) if infinite else value


def _number(value: object) -> object:
    return float(value) if value in ('inf', '-inf') else value


def priority_takers(hooks: Iterable, model: object) -> list:
    """Those whom spWC's weights reach, as objects or as classes.

    A method ``set_priorities(v)`` takes the weights of the old units, oldest
    first, and ``priority_unit``, ``'step'`` (the default) or ``'class'``,
    says of which. Hooks, the penalties, come first; the model takes the
    weights where no hook does. A hook that ``takes_alone`` leaves none to
    others.
    """
    takers = [hook for hook in hooks if hasattr(hook, 'set_priorities')]
    alone = [taker for taker in takers if getattr(taker, 'takes_alone', False)]
    return alone or takers or (
        [model] if hasattr(model, 'set_priorities') else [])


def taken_unit(taker: object) -> str:
    """Whose weights a taker wants: those of ``'class'`` or ``'step'``."""
    return getattr(taker, 'priority_unit', 'step')
