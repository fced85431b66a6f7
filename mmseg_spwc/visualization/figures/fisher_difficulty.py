"""Does the importance of a task tell how hard it is?"""
import numpy as np
from matplotlib.figure import Figure

from mmseg_spwc.consolidation import TaskStore
from mmseg_spwc.errors import RecordError

from ..palette import colour
from ..runs import Comparison, Run
from .style import MARKERS, count_axis, styled, wrapped

FOLDER = 'consolidation'


@styled
def draw(comparison: Comparison) -> Figure:
    """Draw normalised importance and difficulty by task, and their
    correlation; one panel for each run that has stored importances."""
    chosen = [(group.run_label(run), *facts(run))
              for group in comparison.groups for run in group.runs
              if TaskStore(run.folder / FOLDER).tasks()]
    if not chosen:
        raise RecordError(f'None of the runs has a folder {FOLDER!r} with '
                          'importances: draw runs of EWC, MAS or their kin.')
    figure, axes = wrapped(len(chosen), 2.6, 2.2)
    for panel, (label, importance, difficulty) in zip(axes, chosen,
                                                      strict=True):
        tasks = range(1, len(importance) + 1)
        for i, (name, values) in enumerate(
                (('importance', importance), ('difficulty', difficulty))):
            panel.plot(tasks, normalised(values), color=colour(i),
                       marker=MARKERS[i], label=name)
        r = correlation(importance, difficulty)
        panel.set(ylabel='normalised', title=f'{label}: r = {r:.2f}')
        count_axis(panel, 'task')
    axes[0].legend()
    return figure


def facts(run: Run) -> tuple[list, list]:
    """Mean importance, and 1 - psi right after learning, of every task.

    psi is the held-out score that spWC reads.
    """
    store = TaskStore(run.folder / FOLDER)
    importance, difficulty = [], []
    for task in store.tasks():
        entry = run.record.step(task)
        if not entry.get('kpi'):
            raise RecordError(f'{run.folder} has no held-out scores, so its '
                              'tasks have no difficulty: train with '
                              'heldout.ratio above 0.')
        tensors, _ = store.load(task)
        total = sum(float(t.double().sum()) for t in tensors.values())
        importance.append(total / sum(t.numel() for t in tensors.values()))
        difficulty.append(1 - (entry['kpi']['step'][task] or 0.))
    return importance, difficulty


def normalised(values: list) -> list:
    """Values moved and stretched to [0, 1]; equal ones are 0."""
    low, high = min(values), max(values)
    return [(v - low) / (high - low) if high > low else 0. for v in values]


def correlation(a: list, b: list) -> float:
    """Pearson's r; NaN where one of the two does not vary."""
    if len(a) < 2 or min(a) == max(a) or min(b) == max(b):
        return float('nan')
    return float(np.corrcoef(a, b)[0, 1])
