"""Lines and maps over the steps, in Matplotlib."""
import functools

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from mmseg_spwc.consolidation.store import FOLDER, StepStore
from mmseg_spwc.errors import RecordError

from .. import series
from ..palette import colour, symbol
from ..runs import Comparison, Run
from .style import count_axis, draw_lines, panels, styled, wrapped


@styled
def apa_acf(comparison: Comparison) -> Figure:
    r"""Draw APA and ACF over the steps.

    :math:`\mathrm{APA}_t` is the mean score on what was learnt so far,
    :math:`\mathrm{ACF}_t = a_{00} - \mathrm{APA}_t`; see
    :class:`~mmseg_spwc.evaluation.AccuracyMatrix`.
    """
    figure, axes = panels(2, height=2.2)
    for panel, name in zip(axes, ('apa', 'acf'), strict=True):
        found = series.lines(
            comparison, functools.partial(series.matrix_curve, name=name))
        if not found:
            raise RecordError('None of the runs has a score for every step '
                              'after every step, which APA needs.')
        draw_lines(panel, found, 100)
        panel.set_ylabel(f'{name.upper()} (%)')
        count_axis(panel, 'step')
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
    draw_lines(axes, series.lines(comparison, series.efficiencies))
    axes.set(ylabel='PS', ylim=(0, 1.05))
    count_axis(axes, 'number of tasks')
    axes.legend()
    return figure


@styled
def convergence(comparison: Comparison) -> Figure:
    """Draw the objective over the iterations of each step.

    One panel per method, of several seeds the first; one line per step.
    """
    chosen = [(group, group.records[0]) for group in comparison.groups
              if any(series.objective(s)[0] for s in group.records[0].steps)]
    if not chosen:
        raise RecordError('The records hold no loss curves; they are kept by '
                          'runs of this version.')
    figure, axes = wrapped(len(chosen), 2.6, 2.2)
    shades = matplotlib.colormaps['cividis']
    for panel, (group, record) in zip(axes, chosen, strict=True):
        last = max(1, len(record.steps) - 1)
        for i, entry in enumerate(record.steps):
            panel.plot(*series.objective(entry), color=shades(.92 * i / last),
                       label=f'{entry["step"]}')
        panel.set(xlabel='iteration of the step', ylabel='objective',
                  title=group.label)
    axes[-1].legend(title='step', ncols=2)
    return figure


@styled
def priority(comparison: Comparison) -> Figure:
    """Draw v by old class or step, one panel for each method with spWC.

    Of several seeds the first is drawn.
    """
    chosen = [(group.label, series.priorities(group.records[0]))
              for group in comparison.groups]
    chosen = [(label, grid) for label, grid in chosen if grid.steps]
    if not chosen:
        raise RecordError('None of the runs has priority weights: draw a run '
                          'with spWC.')
    tables = [np.array(grid.values, float) for _, grid in chosen]
    height = max(len(t) for t in tables)
    figure, axes = wrapped(len(chosen), 2.8, .9 + .14 * height)
    top = max(1., *(np.nanmax(t) for t in tables))
    for panel, table, (label, grid) in zip(axes, tables, chosen, strict=True):
        image = panel.imshow(table, vmin=0, vmax=top, aspect='auto')
        panel.set_xticks(range(len(grid.steps)), map(str, grid.steps))
        panel.set_yticks(range(len(table)), grid.names)
        panel.set(xlabel='while learning step', title=label)
        panel.grid(False)
    figure.colorbar(image, ax=axes, label='v')
    return figure


@styled
def importance_error(comparison: Comparison) -> Figure:
    """Draw normalised importance and error by step, and their correlation.

    Does the importance of a step tell how badly it is done? One panel for
    each run that has stored importances.
    """
    chosen = [(group.run_label(run), *facts(run))
              for group in comparison.groups for run in group.runs
              if StepStore(run.folder / FOLDER).steps()]
    if not chosen:
        raise RecordError(f'None of the runs has a folder {FOLDER!r} with '
                          'importances: draw runs of EWC, MAS or their kin.')
    figure, axes = wrapped(len(chosen), 2.6, 2.2)
    for panel, (label, importance, error) in zip(axes, chosen, strict=True):
        for i, (name, values) in enumerate(
                (('importance', importance), ('error', error))):
            panel.plot(normalised(values), color=colour(i),
                       marker=symbol(i)[1], label=name)
        r = correlation(importance, error)
        panel.set(ylabel='normalised', title=f'{label}: r = {r:.2f}')
        count_axis(panel, 'step')
    axes[0].legend()
    return figure


def facts(run: Run) -> tuple[list, list]:
    """Mean importance and error of every step, right after learning it.

    The error is 1 - psi, of the held-out score psi that spWC reads.
    """
    store = StepStore(run.folder / FOLDER)
    importance, error = [], []
    for step in store.steps():
        entry = run.record.step(step)
        if not entry.get('kpi'):
            raise RecordError(f'{run.folder} has no held-out scores, so its '
                              'steps have no error to draw: train with '
                              'heldout.ratio above 0.')
        tensors, _ = store.load(step)
        total = sum(float(t.double().sum()) for t in tensors.values())
        importance.append(total / sum(t.numel() for t in tensors.values()))
        error.append(1 - (entry['kpi']['step'][step] or 0.))
    return importance, error


def normalised(values: list) -> list:
    """Values moved and stretched to [0, 1]; equal ones are 0."""
    low, high = min(values), max(values)
    return [(v - low) / (high - low) if high > low else 0. for v in values]


def correlation(a: list, b: list) -> float:
    """Pearson's r; NaN where one of the two does not vary."""
    if len(a) < 2 or min(a) == max(a) or min(b) == max(b):
        return float('nan')
    return float(np.corrcoef(a, b)[0, 1])
