"""What charts of records show: lines over the steps, grids of units by step.

The report page and the figures for papers draw the same series.
"""
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mmseg_spwc.evaluation import parameter_size_efficiency
from mmseg_spwc.record import Record

from .runs import Comparison, Group
from .scores import (
    Spread,
    is_classification,
    matrix,
    spread,
    unit_names,
    unit_scores,
)

MANY = 100  # of more steps only so many are drawn
NOTHING = Spread(None, None)


def thinned(items: Sequence, most: int = MANY) -> list:
    """Some of many items, at equal distances, the first and last included."""
    if len(items) <= most:
        return list(items)
    last = len(items) - 1
    return [items[i * last // (most - 1)] for i in range(most)]


class Grid(NamedTuple):
    """Values by unit, classes or steps, and by step; None leaves a gap."""
    unit: str
    names: list[str]
    steps: list[int]
    values: list[list]

    def some(self, most: int = MANY) -> 'Grid':
        """All classes, but only some of many steps."""
        rows = range(len(self.names))
        rows = thinned(rows, most) if self.unit == 'step' else rows
        columns = thinned(range(len(self.steps)), most)
        return Grid(
            self.unit, [self.names[r] for r in rows],
            [self.steps[c] for c in columns],
            [[self.values[r][c] for c in columns] for r in rows])


def _grid(record: Record, unit: str, columns: dict[int, list]) -> Grid:
    count = max(map(len, columns.values()), default=0)
    rows = [[c[i] if i < len(c) else None for c in columns.values()]
            for i in range(count)]
    return Grid(unit, unit_names(record, unit, count), list(columns), rows)


def scores(record: Record) -> Grid:
    """Score of every class, or of what every step taught a classifier."""
    if is_classification(record):
        return step_scores(record)
    return _grid(record, 'class', {s['step']: s['iou'] for s in record.steps})


def step_scores(record: Record) -> Grid:
    """Score of what every step brought."""
    return _grid(record, 'step', {
        s['step']: unit_scores(record, s) for s in record.steps})


def lost(record: Record) -> Grid:
    r"""How much of what a step brought was lost after each step.

    :math:`f_{jt} = \max_{i \le t} a_{ij} - a_{tj}`, where :math:`a_{tj}` is
    the score on what step j brought, after step t.
    """
    found = step_scores(record)
    return found._replace(values=[
        list(_below_best(row)) for row in found.values])


def _below_best(row: list) -> Iterator[float | None]:
    best = None
    for score in row:
        if score is not None:
            best = score if best is None else max(best, score)
        yield None if score is None else best - score


def priorities(record: Record, key: str = 'v') -> Grid:
    """spWC's ``v``, ``psi`` or ``eta`` of every old unit, by step."""
    chosen = {s['step']: s['priority'] for s in record.steps
              if s.get('priority')}
    unit = next(iter(chosen.values()))['unit'] if chosen else 'step'
    return _grid(record, unit, {
        step: p.get(key) or [None] * len(p['v'])
        for step, p in chosen.items()})


Lines = list[tuple[Group, dict[int, Spread]]]


def lines(comparison: Comparison,
          curve_of: Callable[[Record], dict[int, float | None]]) -> Lines:
    """A line for each method that has values: mean and spread by step."""
    found = []
    for group in comparison.groups:
        curves = [c for c in map(curve_of, group.records) if c]
        if curves:
            places = sorted(set().union(*curves))
            found.append((group, {
                x: spread([c.get(x) for c in curves]) for x in places}))
    return found


def matrix_curve(record: Record, name: str) -> dict[int, float]:
    """``apa`` or ``acf`` of the accuracy matrix by step."""
    found = matrix(record)
    return dict(enumerate(getattr(found, name)())) if found else {}


def efficiencies(record: Record) -> dict[int, float]:
    """PS by number of tasks, from the tasks penalised so far."""
    counts = [(entry.get('consolidation') or {}).get('penalised', 0)
              for entry in record.steps]
    return {m: parameter_size_efficiency(counts[:m])
            for m in range(1, len(counts) + 1)}


def objective(entry: dict) -> tuple[list, list]:
    """Iterations and values of loss plus consolidation penalty of a step.

    The penalty is not part of the loss, because it enters as a gradient; it
    is logged less often and interpolated here.
    """
    losses = (entry.get('curves') or {}).get('losses', {})
    if not losses.get('loss'):
        return [], []
    places = np.array(_iterations(entry), float)
    total, penalty = (np.array(losses.get(name) or [None] * len(places), float)
                      for name in ('loss', 'penalty'))
    known = ~np.isnan(penalty)
    if known.any():
        total = total + np.interp(places, places[known], penalty[known])
    return places.tolist(), total.tolist()


class Curve(NamedTuple):
    """A term along the sequence; gaps are None."""
    iterations: list
    values: list
    steps: list


def boundaries(record: Record) -> list[int]:
    """The last iteration of every step, counted over the sequence."""
    lengths = [([0] + _iterations(entry))[-1] for entry in record.steps]
    return np.cumsum(lengths, dtype=int).tolist()


def sequence_curves(record: Record) -> dict[str, Curve]:
    """Join the curves of the steps, by term.

    Iterations count on from step to step; between steps there is a gap, so
    that no line joins the end of one with the beginning of the next.
    """
    joined: dict[str, Curve] = {}
    starts = [0, *boundaries(record)]
    for start, entry in zip(starts, record.steps, strict=False):
        for term, values in (entry.get('curves') or {}).get(
                'losses', {}).items():
            # a term that is logged less often has no value in between
            known = [(start + i, value) for i, value in zip(
                _iterations(entry), values, strict=True) if value is not None]
            curve = joined.setdefault(term, Curve([], [], []))
            if curve.values:
                known.insert(0, (start, None))
            curve.iterations.extend(i for i, _ in known)
            curve.values.extend(value for _, value in known)
            curve.steps.extend([entry['step']] * len(known))
    return joined


def _iterations(entry: dict) -> list[int]:
    return (entry.get('curves') or {}).get('iterations', [])
