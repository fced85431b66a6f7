"""The units of a run: their priority weights, importances and errors."""
import numpy as np
from matplotlib.figure import Figure

from mmseg_spwc.consolidation.store import FOLDER, StepStore
from mmseg_spwc.errors import RecordError
from mmseg_spwc.record import Record

from ..palette import colour
from ..runs import Comparison, Run
from ..scores import class_names
from .style import MARKERS, count_axis, styled, wrapped


@styled
def priority(comparison: Comparison) -> Figure:
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
        return class_names(record)[:count]
    return [f'task {t + 1}' for t in range(count)]


@styled
def importance_error(comparison: Comparison) -> Figure:
    """Draw normalised importance and error by task, and their correlation.

    Does the importance of a task tell how badly it is done? One panel for
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
        tasks = range(1, len(importance) + 1)
        for i, (name, values) in enumerate(
                (('importance', importance), ('error', error))):
            panel.plot(tasks, normalised(values), color=colour(i),
                       marker=MARKERS[i], label=name)
        r = correlation(importance, error)
        panel.set(ylabel='normalised', title=f'{label}: r = {r:.2f}')
        count_axis(panel, 'task')
    axes[0].legend()
    return figure


def facts(run: Run) -> tuple[list, list]:
    """Mean importance and error of every task, right after learning it.

    The error is 1 - psi, of the held-out score psi that spWC reads.
    """
    store = StepStore(run.folder / FOLDER)
    importance, error = [], []
    for task in store.steps():
        entry = run.record.step(task)
        if not entry.get('kpi'):
            raise RecordError(f'{run.folder} has no held-out scores, so its '
                              'tasks have no error to draw: train with '
                              'heldout.ratio above 0.')
        tensors, _ = store.load(task)
        total = sum(float(t.double().sum()) for t in tensors.values())
        importance.append(total / sum(t.numel() for t in tensors.values()))
        error.append(1 - (entry['kpi']['step'][task] or 0.))
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
