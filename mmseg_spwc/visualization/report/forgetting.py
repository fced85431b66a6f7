"""What later steps cost the earlier ones."""
import math

from mmseg_spwc.record import Record

from ..runs import Comparison
from ..scores import matrix, unit_name, unit_scores
from ..tables import percent
from .chart import Chart
from .heat_map import heat_map


def charts(comparison: Comparison) -> list[Chart]:
    """Return one matrix for each run that has more than one step.

    All have the same colours: the brightest is the most that any run lost,
    rounded up to tens.
    """
    found = [value for run in comparison.runs for row in lost(run.record)
             for value in row if value is not None]
    top = 10 * max(1, math.ceil(10 * max(found, default=0.)))
    return [
        _chart(run.record, group.run_label(run), group.key, top)
        for group in comparison.groups for run in group.runs
        if len(lost(run.record)) > 1
    ]


def lost(record: Record) -> list[list]:
    r"""How much of each step's classes or task was lost after each step.

    :math:`f_{jt} = \max_{i \le t} a_{ij} - a_{tj}`, where :math:`a_{tj}` is
    the score on what step j brought, after step t.

    Args:
        record (Record): The run.

    Returns:
        list[list]: Rows are the steps j, columns the finished steps t; None
        before step j, and where there is no score.
    """
    columns = [unit_scores(record, entry) for entry in record.steps]
    height = max(map(len, columns), default=0)
    rows = []
    for j in range(height):
        scores = [c[j] if j < len(c) else None for c in columns]
        row, best = [], None
        for score in scores:
            if score is not None:
                best = score if best is None else max(best, score)
            row.append(None if score is None else best - score)
        rows.append(row)
    return rows


def _chart(record: Record, label: str, key: str, top: int) -> Chart:
    rows = lost(record)
    columns = [unit_scores(record, entry) for entry in record.steps]
    hover = [[
        f'score {percent(c[j] if j < len(c) else None)} %, '
        f'{percent(rows[j][t])} points below its best'
        for t, c in enumerate(columns)
    ] for j in range(len(rows))]
    text = [['' if v is None else f'{100 * v:.0f}' for v in row]
            for row in rows]
    drawn = heat_map(
        [unit_name(record, j) for j in range(len(rows))],
        record.finished_steps,
        [[None if v is None else 100 * v for v in row] for row in rows],
        hover, top, 'points lost', text)
    return Chart(_title(record, label), drawn,
                 f'Matrix of points lost by each step of {label}.', key)


def _title(record: Record, label: str) -> str:
    found = matrix(record)
    if found is None:
        return label
    return (f'{label}: forgetting {percent(found.forgetting())}, '
            f'BWT {percent(found.bwt())}')
