"""Loss terms along the whole sequence."""
import plotly.graph_objects as go

from ..curves import Curve, boundaries, sequence_curves
from ..palette import colour, dash
from ..runs import Comparison
from .chart import Chart, figure, plain


def charts(comparison: Comparison) -> list[Chart]:
    """Return one chart for each term that any run has recorded."""
    found = {}  # term -> [(group, run label, curve)]
    for group in comparison.groups:
        for run in group.runs:
            for term, curve in sequence_curves(run.record).items():
                found.setdefault(term, []).append(
                    (group, group.run_label(run), curve))
    marks = _common_boundaries(comparison)
    return [_chart(term, lines, marks) for term, lines in found.items()]


def _common_boundaries(comparison: Comparison) -> list[int]:
    """Where steps end, if they end there in every run."""
    found = {tuple(boundaries(run.record)) for run in comparison.runs}
    # a run that stopped early has the first of the others' boundaries
    longest = max(found, key=len)
    agree = all(longest[:len(other)] == other for other in found)
    return list(longest[:-1]) if agree else []


def _chart(term: str, lines: list, marks: list[int]) -> Chart:
    traces, named = [], set()
    for group, label, curve in lines:
        traces.append(_trace(group, label, curve, group.key not in named))
        named.add(group.key)
    drawn = figure(
        traces, 300, xaxis=dict(title='iteration of the whole sequence'),
        yaxis=dict(title=plain(term), rangemode='tozero'),
        shapes=[dict(type='line', x0=x, x1=x, y0=0, y1=1, yref='paper',
                     line=dict(dash='dot', width=1, color='#888'))
                for x in marks])
    return Chart(term, drawn, f'Curves of {term} over the iterations of all '
                 'steps; dotted lines are the ends of steps.')


def _trace(group, label: str, curve: Curve, named: bool) -> go.Scatter:
    return go.Scatter(
        x=curve.iterations, y=curve.values, customdata=curve.steps,
        name=plain(group.label), text=[plain(label)] * len(curve.values),
        mode='lines', legendgroup=group.key, showlegend=named,
        line=dict(color=colour(group.index), dash=dash(group.index),
                  width=1.5),
        meta=dict(group=group.key),
        hovertemplate='%{text}<br>step %{customdata}, iteration %{x}: '
        '%{y:.4g}<extra></extra>')
