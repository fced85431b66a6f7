"""Parameter size efficiency after every task."""
from matplotlib.figure import Figure

from mmseg_spwc.errors import RecordError
from mmseg_spwc.evaluation import parameter_size_efficiency
from mmseg_spwc.record import Record

from ..runs import Comparison
from ..scores import spread
from .style import count_axis, line, panels, styled


@styled
def draw(comparison: Comparison) -> Figure:
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
