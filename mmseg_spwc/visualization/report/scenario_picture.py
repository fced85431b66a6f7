"""Which class or domain arrives when."""
import plotly.graph_objects as go

from mmseg_spwc.record import Record

from ..runs import Comparison
from ..scores import is_classification
from .chart import Chart, figure, plain, step_axis

# of the states below
COLOURS = ('rgba(128,128,128,0.15)', '#56B4E9', '#0072B2')
STATES = ('not yet', 'learnt before', 'learnt now')


def charts(comparison: Comparison) -> list[Chart]:
    """Return the picture of the scenario, if the record tells its steps."""
    record = comparison.example
    steps = record.content['scenario'].get('steps')
    if not steps:
        return []
    describe = _task if is_classification(record) else _names
    rows = [(name, t) for t, units in enumerate(steps)
            for name in describe(record, t, units)]
    times = list(range(len(steps)))
    states = [[(t <= now) + (t == now) for now in times] for _, t in rows]
    trace = go.Heatmap(
        x=times, y=list(range(len(rows))), z=states, zmin=0, zmax=2,
        xgap=1, ygap=1, showscale=False,
        customdata=[[STATES[s] for s in row] for row in states],
        text=[[plain(name)] * len(times) for name, _ in rows],
        colorscale=[[i / 2, c] for i, c in enumerate(COLOURS)],
        hovertemplate='%{text}<br>step %{x}: %{customdata}<extra></extra>')
    drawn = figure(
        [trace], 90 + max((17 if len(rows) < 60 else 12) * len(rows), 80),
        xaxis=step_axis(times, 'step'), margin=dict(l=8, r=8, t=8, b=44),
        yaxis=dict(autorange='reversed', automargin=True, tickmode='array',
                   tickvals=list(range(len(rows))),
                   ticktext=[plain(name) for name, _ in rows]))
    drawn.update_layout(dragmode=False)
    drawn.update_xaxes(showgrid=False, zeroline=False)
    drawn.update_yaxes(showgrid=False, zeroline=False)
    return [Chart(
        '', drawn,
        'Grid of classes by steps: dark blue where a class is learnt, light '
        'blue where it was learnt before, grey before it arrives.')]


def _task(record: Record, step: int, units: list) -> list[str]:
    """A task in one row: there may be hundreds of classes."""
    if record.content['scenario'].get('kind') == 'domain':
        return [f'task {step + 1}: {", ".join(map(str, units))}']
    return [f'task {step + 1}: {len(units)} classes']


def _names(record: Record, step: int, units: list) -> list[str]:
    """Names of what a step brings; ids where no step got that far."""
    entry = max(record.steps, key=lambda s: len(s['classes']), default={})
    known = dict(zip(entry.get('class_ids', []), entry.get('classes', []),
                     strict=False))
    named = [str(known.get(unit, unit)) for unit in units]
    if step == 0 and 0 in known and 0 not in units:
        named.insert(0, known[0])
    return named
