"""The priority weights of spWC as heat maps."""
import numpy as np
from matplotlib.figure import Figure

from mmseg_spwc.errors import RecordError
from mmseg_spwc.record import Record

from ..runs import Comparison
from .style import styled, wrapped


@styled
def draw(comparison: Comparison) -> Figure:
    """Draw v by old class or step, one panel for each method with spWC.

    Of several seeds the first is drawn.
    """
    chosen = [(group, group.records[0]) for group in comparison.groups
              if any(s.get('priority') for s in group.records[0].steps)]
    if not chosen:
        raise RecordError('None of the runs has priority weights: draw a run '
                          'with spWC.')
    tables = [weights(record) for _, record in chosen]
    height = max(len(t) for t in tables)
    figure, axes = wrapped(len(chosen), 2.8, .9 + .14 * height)
    top = max(1., *(np.nanmax(t) for t in tables))
    for panel, table, (group, record) in zip(axes, tables, chosen,
                                             strict=True):
        image = panel.imshow(table, vmin=0, vmax=top, aspect='auto')
        steps = [s['step'] for s in record.steps if s.get('priority')]
        panel.set_xticks(range(len(steps)), [str(s + 1) for s in steps])
        panel.set_yticks(range(len(table)), _names(record, len(table)))
        panel.set(xlabel='while learning task', title=group.label)
        panel.grid(False)
    figure.colorbar(image, ax=axes, label='v')
    return figure


def weights(record: Record) -> np.ndarray:
    """v by unit and step with priorities; NaN before a unit is old."""
    columns = [s['priority']['v'] for s in record.steps if s.get('priority')]
    table = np.full((max(map(len, columns)), len(columns)), np.nan)
    for i, column in enumerate(columns):
        table[:len(column), i] = column
    return table


def _names(record: Record, count: int) -> list[str]:
    entry = next(s for s in record.steps if s.get('priority'))
    if entry['priority']['unit'] == 'class':
        return max((s['classes'] for s in record.steps), key=len)[:count]
    return [f'task {t + 1}' for t in range(count)]
