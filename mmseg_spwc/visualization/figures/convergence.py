"""How the objective falls, task by task."""
import matplotlib
import numpy as np
from matplotlib.figure import Figure

from mmseg_spwc.errors import RecordError

from ..runs import Comparison
from .style import styled, wrapped


@styled
def draw(comparison: Comparison) -> Figure:
    """Draw the objective over the iterations of each task.

    One panel a method, of several seeds the first; one line a task.
    """
    chosen = [(group, group.records[0]) for group in comparison.groups
              if any(objective(s)[0] for s in group.records[0].steps)]
    if not chosen:
        raise RecordError('The records hold no loss curves; they are kept by '
                          'runs of this version.')
    figure, axes = wrapped(len(chosen), 2.6, 2.2)
    shades = matplotlib.colormaps['cividis']
    for panel, (group, record) in zip(axes, chosen, strict=True):
        last = max(1, len(record.steps) - 1)
        for i, entry in enumerate(record.steps):
            panel.plot(*objective(entry), color=shades(.92 * i / last),
                       label=f'{entry["step"] + 1}')
        panel.set(xlabel='iteration of the task', ylabel='objective',
                  title=group.label)
    axes[-1].legend(title='task', ncols=2)
    return figure


def objective(entry: dict) -> tuple[list, list]:
    """The loss and the consolidation penalty of a step, added up.

    The penalty is not part of the loss, because it enters as a gradient; it
    is logged less often and interpolated here.

    Returns:
        tuple: Iterations and values; empty where no loss was kept.
    """
    curves = entry.get('curves') or {}
    losses = curves.get('losses', {})
    if not losses.get('loss'):
        return [], []
    places = np.array(curves['iterations'], float)
    total = np.array([np.nan if v is None else v for v in losses['loss']])
    if losses.get('penalty'):
        penalty = np.array(
            [np.nan if v is None else v for v in losses['penalty']])
        known = ~np.isnan(penalty)
        if known.any():
            total = total + np.interp(places, places[known], penalty[known])
    return places.tolist(), total.tolist()
