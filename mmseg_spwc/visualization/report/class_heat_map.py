"""IoU of every class, or accuracy on every task, over the steps."""
import math

from mmseg_spwc.record import Record

from ..runs import Comparison, Run
from ..scores import (
    is_classification,
    numbered_classes,
    unit_name,
    unit_scores,
)
from ..tables import percent
from .chart import Chart
from .heat_map import heat_map


def charts(comparison: Comparison) -> list[Chart]:
    """Return one heat map for each run, all in the same colours.

    The darkest is the lowest score, rounded down to tens, so that scores
    which are all high can be told apart.
    """
    scores = [score for run in comparison.runs for entry in run.record.steps
              for score in _scores(run.record, entry) if score is not None]
    bottom = 10 * math.floor(min(10 * min(scores, default=0.), 9))
    return [
        _chart(run, group.run_label(run), group.key, bottom)
        for group in comparison.groups for run in group.runs
        if run.record.steps
    ]


def _chart(run: Run, label: str, key: str, bottom: int) -> Chart:
    record = run.record
    columns = [_scores(record, entry) for entry in record.steps]
    height = max(map(len, columns))
    values = [[100 * c[i] if i < len(c) and c[i] is not None else None
               for c in columns] for i in range(height)]
    shown = [[percent(c[i] if i < len(c) else None) for c in columns]
             for i in range(height)]
    what = 'accuracy' if is_classification(record) else 'IoU'
    drawn = heat_map(_names(record, height), record.finished_steps, values,
                     [[f'{what} {cell} %' for cell in row] for row in shown],
                     100, f'{what}, %', bottom=bottom)
    return Chart(label, drawn,
                 f'Heat map of {what} over the steps of {label}.', key)


def _scores(record: Record, entry: dict) -> list:
    if is_classification(record):
        return unit_scores(record, entry)
    return entry['iou']


def _names(record: Record, height: int) -> list[str]:
    if is_classification(record):
        return [unit_name(record, t) for t in range(height)]
    return numbered_classes(record)[:height]
