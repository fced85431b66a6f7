"""Lines over the sequence: the main score, time and memory, the losses."""
from typing import NamedTuple

import plotly.graph_objects as go

from mmseg_spwc.record import Record

from ..palette import colour, dash
from ..runs import Comparison, Group
from ..scores import Spread, score_name, scores_by_step, spread
from ..table_formats import Column, Table
from .chart import MANY, Chart, figure, method_lines, plain, step_axis

POINTS = 5000  # of a line of losses that are drawn
COSTS = {
    'wall_time': ('Time by step', 'seconds', 1, ' s'),
    'peak_memory': ('Peak memory by step', 'MiB', 1 / 2**20, ' MiB'),
}


def score_charts(comparison: Comparison) -> list[Chart]:
    """Return one chart with a line for each method."""
    steps = comparison.steps
    name = score_name(comparison.example)
    values = [_score_values(group, steps) for group in comparison.groups]
    traces = [
        trace
        for group, found in zip(comparison.groups, values, strict=True)
        for trace in method_lines(group, _percent(found), ' %')
    ]
    # close lines high up need the room that zero would take
    means = [v.mean for found in values for v in found.values()
             if v.mean is not None]
    high = bool(means) and 2 * min(means) > max(means)
    drawn = figure(
        traces, 400, xaxis=step_axis(steps),
        yaxis=dict(title=f'{name} of all learnt so far, %',
                   rangemode='normal' if high else 'tozero'))
    table = Table('after step', [Column(str(s)) for s in steps],
                  [group.label for group in comparison.groups],
                  [[found[s] for s in steps] for found in values])
    return [Chart('', drawn,
                  f'Lines of {name} after each step, one for each method.',
                  table=table, keys=tuple(g.key for g in comparison.groups))]


def _score_values(group: Group, steps: list[int]) -> dict[int, Spread]:
    found = [scores_by_step(record) for record in group.records]
    return {s: spread([scores.get(s) for scores in found]) for s in steps}


def _percent(values: dict[int, Spread]) -> dict[int, Spread]:
    return {s: Spread(*(part and 100 * part for part in value))
            for s, value in values.items()}


def cost_charts(comparison: Comparison) -> list[Chart]:
    """Return a chart of the time and one of the memory."""
    return [_cost_chart(comparison, name) for name in COSTS]


def _cost_chart(comparison: Comparison, name: str) -> Chart:
    title, unit, scale, suffix = COSTS[name]
    traces = [
        trace for group in comparison.groups
        for trace in method_lines(
            group, _cost_values(group, name, scale), suffix)
    ]
    drawn = figure(
        traces, 320, xaxis=step_axis(comparison.steps, 'step'),
        yaxis=dict(title=unit, rangemode='tozero'))
    return Chart(title, drawn, f'Lines of {unit} by step for each method.')


def _cost_values(group: Group, name: str, scale: float) -> dict:
    found: dict[int, list] = {}
    for record in group.records:
        for entry in record.steps:
            found.setdefault(entry['step'], []).append(
                scale * entry['cost'][name])
    return {step: spread(found[step]) for step in sorted(found)}


class Curve(NamedTuple):
    """A term along the sequence; gaps are None."""
    iterations: list
    values: list
    steps: list


def boundaries(record: Record) -> list[int]:
    """The last iteration of every step, counted over the sequence."""
    ends, total = [], 0
    for entry in record.steps:
        total += ([0] + _iterations(entry))[-1]
        ends.append(total)
    return ends


def sequence_curves(record: Record) -> dict[str, Curve]:
    """Join the curves of the steps, by term.

    Iterations count on from step to step; between steps there is a gap, so
    that no line joins the end of one with the beginning of the next.
    """
    joined: dict[str, Curve] = {}
    starts = [0, *boundaries(record)]
    for start, entry in zip(starts, record.steps, strict=False):
        for term, values in (entry.get('curves') or {}).get(
                'losses', {}).items():
            # a term that is logged less often has no value in between
            known = [(start + i, value) for i, value in zip(
                _iterations(entry), values, strict=True) if value is not None]
            curve = joined.setdefault(term, Curve([], [], []))
            if curve.values:
                known.insert(0, (start, None))
            curve.iterations.extend(i for i, _ in known)
            curve.values.extend(value for _, value in known)
            curve.steps.extend([entry['step']] * len(known))
    return joined


def _iterations(entry: dict) -> list[int]:
    return (entry.get('curves') or {}).get('iterations', [])


def loss_charts(comparison: Comparison) -> list[Chart]:
    """Return one chart for each term that any run has recorded."""
    found = {}  # term -> [(group, run label, curve)]
    for group in comparison.groups:
        for run in group.runs:
            for term, curve in sequence_curves(run.record).items():
                found.setdefault(term, []).append(
                    (group, group.run_label(run), curve))
    marks = _common_boundaries(comparison)
    return [_loss_chart(term, lines, marks) for term, lines in found.items()]


def _common_boundaries(comparison: Comparison) -> list[int]:
    """Where steps end, if they end there in every run."""
    found = {tuple(boundaries(run.record)) for run in comparison.runs}
    # a run that stopped early has the first of the others' boundaries
    longest = max(found, key=len)
    agree = all(longest[:len(other)] == other for other in found)
    return list(longest[:-1]) if agree else []


def _loss_chart(term: str, lines: list, marks: list[int]) -> Chart:
    traces, named = [], set()
    for group, label, curve in lines:
        traces.append(_loss_trace(group, label, curve, group.key not in named))
        named.add(group.key)
    drawn = figure(
        traces, 300, xaxis=dict(title='iteration of the whole sequence'),
        yaxis=dict(title=plain(term), rangemode='tozero'),
        shapes=[dict(type='line', x0=x, x1=x, y0=0, y1=1, yref='paper',
                     line=dict(dash='dot', width=1, color='#888'))
                for x in (marks if len(marks) < MANY else ())])
    return Chart(term, drawn, f'Curves of {term} over the iterations of all '
                 'steps; dotted lines are the ends of steps.')


def _loss_trace(group: Group, label: str, curve: Curve,
                named: bool) -> go.Scatter:
    every = -(-len(curve.values) // POINTS)
    drawn = [i for i, value in enumerate(curve.values)
             if value is None or i % every == 0]
    x, y, steps = ([values[i] for i in drawn] for values in curve)
    return go.Scatter(
        x=x, y=y, customdata=steps, name=plain(group.label),
        text=plain(label),
        mode='lines', legendgroup=group.key, showlegend=named,
        line=dict(color=colour(group.index), dash=dash(group.index),
                  width=1.5),
        meta=dict(group=group.key),
        hovertemplate='%{text}<br>step %{customdata}, iteration %{x}: '
        '%{y:.4g}<extra></extra>')
