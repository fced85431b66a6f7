"""Scores of a record, by the same functions for both kinds of problem."""
import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from mmseg_spwc.evaluation import AccuracyMatrix
from mmseg_spwc.record import Record


class Spread(NamedTuple):
    """Mean and standard deviation over seeds (ddof = 1).

    ``mean`` is None where no run has the value, ``sd`` where fewer than two
    have it.
    """
    mean: float | None
    sd: float | None

    def times(self, factor: float) -> 'Spread':
        """Both in another unit."""
        return Spread(*(v if v is None else factor * v for v in self))


def spread(values: Sequence[float | None]) -> Spread:
    """Return mean and deviation of the values that exist."""
    known = [v for v in values if v is not None]
    return Spread(
        math.fsum(known) / len(known) if known else None,
        statistics.stdev(known) if len(known) > 1 else None)


def percent(value: float | None) -> str:
    """A fraction as tables and charts print it."""
    return '-' if value is None else f'{100 * value:.1f}'


def is_classification(record: Record) -> bool:
    return record.problem == 'classification'


def score_name(record: Record) -> str:
    """What the main score of a record is called."""
    return 'accuracy' if is_classification(record) else 'mIoU'


def step_score(record: Record, entry: dict) -> float | None:
    """The main score after a step: mIoU over all classes, or APA."""
    if is_classification(record):
        return entry['accuracy']['mean']
    return entry['miou']['all']


def scores_by_step(record: Record) -> dict[int, float | None]:
    """The main score by finished step."""
    return {s['step']: step_score(record, s) for s in record.steps}


def class_names(record: Record) -> list[str]:
    """The names of all classes so far, by channel."""
    return max((s['classes'] for s in record.steps), key=len, default=[])


def unit_names(record: Record, unit: str, count: int) -> list[str]:
    """What to call the first classes or steps of a run."""
    if unit == 'class':
        return class_names(record)[:count]
    return [f'step {t}' for t in range(count)]


def unit_scores(record: Record, entry: dict) -> list:
    """Score of what each step so far brought, after a step.

    It is a row of the accuracy matrix; empty in records without one.
    """
    name = 'accuracy_by_step' if is_classification(record) else 'miou_by_step'
    return entry.get(name) or []


def matrix(record: Record) -> AccuracyMatrix | None:
    """The accuracy matrix, or None where a value is missing.

    Training once on everything, for instance, leaves a single row that is no
    matrix.
    """
    rows = [unit_scores(record, s) for s in record.steps]
    complete = rows and all(
        len(row) == i + 1 and None not in row for i, row in enumerate(rows))
    return AccuracyMatrix(rows) if complete else None


def forgetting(record: Record) -> float | None:
    """How much of the earlier steps was lost in the end, on average."""
    found = matrix(record)
    return None if found is None or len(found) < 2 else found.forgetting()


def average_score(record: Record) -> float | None:
    """The mean over steps of the main score."""
    return spread(list(scores_by_step(record).values())).mean


def final_score(record: Record) -> float | None:
    """The main score after the last finished step."""
    return step_score(record, record.steps[-1]) if record.steps else None
