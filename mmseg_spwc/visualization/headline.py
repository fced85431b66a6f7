"""The three main numbers of a comparison."""
from typing import NamedTuple

from .runs import Comparison
from .scores import (
    average_score,
    final_score,
    forgetting,
    score_name,
    spread,
)
from .tables import percent


class Headline(NamedTuple):
    """What was measured, its value with unit, and the method it is of."""
    title: str
    value: str
    label: str


def headlines(comparison: Comparison) -> list[Headline]:
    """Return the best final score, the best average, the least forgetting.

    Only methods that have finished every step of the others take part. With
    several seeds the value is their mean.
    """
    name = score_name(comparison.example)
    last = comparison.steps[-1] if comparison.steps else -1
    groups = [g for g in comparison.groups
              if g.furthest and g.last_step == last]
    questions = (
        (f'highest {name} after the last step', '%', final_score, max),
        (f'highest {name} on average over steps', '%', average_score, max),
        ('least forgetting', 'points', forgetting, min))
    found = []
    for title, unit, question, choose in questions:
        values = [(spread([question(r) for r in g.furthest]).mean, g.label)
                  for g in groups]
        known = [v for v in values if v[0] is not None]
        if known:
            value, label = choose(known, key=lambda v: v[0])
            found.append(Headline(title, f'{percent(value)} {unit}', label))
    return found
