"""How scores, efficiency and objective go along the sequence of tasks."""
import matplotlib
import numpy as np
from matplotlib.figure import Figure

from mmseg_spwc.errors import RecordError
from mmseg_spwc.evaluation import parameter_size_efficiency
from mmseg_spwc.record import Record

from ..runs import Comparison
from ..scores import matrix, spread
from .style import count_axis, line, panels, styled, wrapped


@styled
def apa_acf(comparison: Comparison) -> Figure:
    r"""Draw APA and ACF over the tasks (steps).

    :math:`\mathrm{APA}_t` is the mean score on the tasks so far,
    :math:`\mathrm{ACF}_t = a_{11} - \mathrm{APA}_t`; see
    :class:`~mmseg_spwc.evaluation.AccuracyMatrix`.
    """
    figure, axes = panels(2, height=2.2)
    drawn = 0
    for group in comparison.groups:
        found = [m for m in map(matrix, group.records) if m is not None]
        if not found:
            continue
        drawn += 1
        for panel, curves in zip(axes, ([m.apa() for m in found],
                                        [m.acf() for m in found]),
                                 strict=True):
            length = max(map(len, curves))
            values = [spread([c[t] for c in curves if t < len(c)])
                      for t in range(length)]
            line(panel, group, range(1, length + 1), values, 100)
    if not drawn:
        raise RecordError('None of the runs has a score for every task after '
                          'every step, which APA needs.')
    for panel, name in zip(axes, ('APA (%)', 'ACF (%)'), strict=True):
        panel.set_ylabel(name)
        count_axis(panel, 'task')
    axes[0].legend()
    return figure


@styled
def ps_by_task(comparison: Comparison) -> Figure:
    """Draw PS(m) over the number of tasks m."""
    if not any(entry.get('consolidation') for run in comparison.runs
               for entry in run.record.steps):
        raise RecordError('None of the runs penalises earlier tasks, so PS '
                          'is 1 for all: draw runs of EWC, MAS or their kin.')
    figure, (axes, ) = panels()
    for group in comparison.groups:
        curves = [efficiencies(record) for record in group.records]
        length = max(map(len, curves))
        line(axes, group, range(1, length + 1),
             [spread([c[t] for c in curves if t < len(c)])
              for t in range(length)])
    axes.set(ylabel='PS', ylim=(0, 1.05))
    count_axis(axes, 'number of tasks')
    axes.legend()
    return figure


def efficiencies(record: Record) -> list[float]:
    """PS after each task, from the tasks penalised so far."""
    counts = [(entry.get('consolidation') or {}).get('penalised', 0)
              for entry in record.steps]
    return [parameter_size_efficiency(counts[:m + 1])
            for m in range(len(counts))]


@styled
def convergence(comparison: Comparison) -> Figure:
    """Draw the objective over the iterations of each task.

    One panel per method, of several seeds the first; one line per task.
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
