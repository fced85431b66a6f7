"""Classes, tasks or steps over the steps of a run, as heat maps."""
import math

import plotly.graph_objects as go

from mmseg_spwc.record import Record

from ..runs import Comparison, Run
from ..scores import (
    class_names,
    is_classification,
    matrix,
    unit_name,
    unit_scores,
)
from ..tables import percent
from .chart import MANY, Chart, figure, heat_map, plain, step_axis, thinned

# of the states below
COLOURS = ('rgba(128,128,128,0.15)', '#56B4E9', '#0072B2')
STATES = ('not yet', 'learnt before', 'learnt now')


def scenario_charts(comparison: Comparison) -> list[Chart]:
    """Return the picture of the scenario, if the record tells its steps."""
    record = comparison.example
    steps = record.content['scenario'].get('steps')
    if not steps:
        return []
    describe = _task_row if is_classification(record) else _new_names
    times = thinned(range(len(steps)))
    rows = [(name, t) for t in times
            for name in describe(record, t, steps[t])]
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


def _task_row(record: Record, step: int, units: list) -> list[str]:
    """A task in one row: there may be hundreds of classes."""
    if record.content['scenario'].get('kind') == 'domain':
        return [f'task {step + 1}: {", ".join(map(str, units))}']
    return [f'task {step + 1}: {len(units)} classes']


def _new_names(record: Record, step: int, units: list) -> list[str]:
    """Names of what a step brings; ids where no step got that far."""
    entry = max(record.steps, key=lambda s: len(s['classes']), default={})
    known = dict(zip(entry.get('class_ids', []), entry.get('classes', []),
                     strict=False))
    named = [str(known.get(unit, unit)) for unit in units]
    if step == 0 and 0 in known and 0 not in units:
        named.insert(0, known[0])
    return named


def class_charts(comparison: Comparison) -> list[Chart]:
    """Return one heat map for each run, all in the same colours.

    The darkest is the lowest score, rounded down to tens, so that scores
    which are all high can be told apart.
    """
    scores = [score for run in comparison.runs for entry in run.record.steps
              for score in _scores(run.record, entry) if score is not None]
    bottom = 10 * math.floor(min(10 * min(scores, default=0.), 9))
    return [
        _class_chart(run, group.run_label(run), group.key, bottom)
        for group in comparison.groups for run in group.runs
        if run.record.steps
    ]


def _class_chart(run: Run, label: str, key: str, bottom: int) -> Chart:
    record = run.record
    entries = thinned(record.steps)
    columns = [_scores(record, entry) for entry in entries]
    what, unit = ('accuracy', 'step') if is_classification(record) else (
        'IoU', 'class')
    units = _units(unit, max(map(len, columns)))
    cells = [[_at(column, i) for column in columns] for i in units]
    values = [[None if c is None else 100 * c for c in row] for row in cells]
    shown = [[percent(cell) for cell in row] for row in cells]
    drawn = heat_map(_names(record, unit, units),
                     [entry['step'] for entry in entries], values,
                     [[f'{what} {cell} %' for cell in row] for row in shown],
                     100, f'{what}, %', bottom=bottom)
    return Chart(label + _left_out(record), drawn,
                 f'Heat map of {what} over the steps of {label}.', key)


def _scores(record: Record, entry: dict) -> list:
    if is_classification(record):
        return unit_scores(record, entry)
    return entry['iou']


def _units(unit: str, count: int) -> list[int]:
    """The units that are drawn: all classes, but only some of many steps."""
    return thinned(range(count)) if unit == 'step' else list(range(count))


def _names(record: Record, unit: str, units: list[int]) -> list[str]:
    """Names of units, no two of them the same."""
    if unit == 'step':
        return [unit_name(record, t) for t in units]
    names = class_names(record)
    return [f'{i} {names[i]}' for i in units]


def _left_out(record: Record) -> str:
    """Says that not every step is drawn."""
    count = len(record.steps)
    return f' ({MANY} of {count} steps)' if count > MANY else ''


def forgetting_charts(comparison: Comparison) -> list[Chart]:
    """Return one matrix for each run that has more than one step.

    All have the same colours: the brightest is the most that any run lost,
    rounded up to tens.
    """
    found = [value for run in comparison.runs for row in lost(run.record)
             for value in row if value is not None]
    top = 10 * max(1, math.ceil(10 * max(found, default=0.)))
    return [
        _lost_chart(run.record, group.run_label(run), group.key, top)
        for group in comparison.groups for run in group.runs
        if len(lost(run.record)) > 1
    ]


def lost(record: Record) -> list[list]:
    r"""How much of each step's classes or task was lost after each step.

    :math:`f_{jt} = \max_{i \le t} a_{ij} - a_{tj}`, where :math:`a_{tj}` is
    the score on what step j brought, after step t.

    Args:
        record (Record): The run.

    Returns:
        list[list]: Rows are the steps j, columns the finished steps t; None
        before step j, and where there is no score.
    """
    columns = [unit_scores(record, entry) for entry in record.steps]
    height = max(map(len, columns), default=0)
    rows = []
    for j in range(height):
        scores = [c[j] if j < len(c) else None for c in columns]
        row, best = [], None
        for score in scores:
            if score is not None:
                best = score if best is None else max(best, score)
            row.append(None if score is None else best - score)
        rows.append(row)
    return rows


def _lost_chart(record: Record, label: str, key: str, top: int) -> Chart:
    rows = lost(record)
    units, times = _units('step', len(rows)), thinned(range(len(rows[0])))
    columns = [unit_scores(record, record.steps[t]) for t in times]
    rows = [[rows[j][t] for t in times] for j in units]
    hover = [[
        f'score {percent(_at(column, j))} %, {percent(value)} points below '
        'its best' for column, value in zip(columns, row, strict=True)
    ] for j, row in zip(units, rows, strict=True)]
    text = [['' if v is None else f'{100 * v:.0f}' for v in row]
            for row in rows]
    drawn = heat_map(
        _names(record, 'step', units),
        [record.steps[t]['step'] for t in times],
        [[None if v is None else 100 * v for v in row] for row in rows],
        hover, top, 'points lost', text)
    return Chart(_lost_title(record, label) + _left_out(record), drawn,
                 f'Matrix of points lost by each step of {label}.', key)


def _lost_title(record: Record, label: str) -> str:
    found = matrix(record)
    if found is None:
        return label
    return (f'{label}: forgetting {percent(found.forgetting())}, '
            f'BWT {percent(found.bwt())}')


def priority_charts(comparison: Comparison) -> list[Chart]:
    """Return one heat map for each run that has priorities."""
    return [
        _priority_chart(run.record, group.run_label(run), group.key)
        for group in comparison.groups for run in group.runs
        if any(entry.get('priority') for entry in run.record.steps)
    ]


def _priority_chart(record: Record, label: str, key: str) -> Chart:
    entries = thinned([s for s in record.steps if s.get('priority')])
    chosen = [s['priority'] for s in entries]
    units = _units(chosen[0]['unit'], max(len(p['v']) for p in chosen))
    values = [[_at(p['v'], i) for p in chosen] for i in units]
    hover = [[_hover(p, i) for p in chosen] for i in units]
    top = max([1., *(v for p in chosen for v in p['v'])])
    drawn = heat_map(_names(record, chosen[0]['unit'], units),
                     [s['step'] for s in entries], values, hover, top, 'v')
    drawn.update_xaxes(title='while learning step')
    drawn.update_traces(hovertemplate='%{y}<br>while learning step %{x}<br>'
                        '%{customdata}<extra></extra>')
    title = f'{label}: rule {chosen[0].get("rule", "unknown")}' \
        + _left_out(record)
    return Chart(title, drawn,
                 f'Heat map of the priority weights of {label}.', key)


def _at(values: list, index: int) -> float | None:
    return values[index] if index < len(values) else None


def _hover(priority: dict, index: int) -> str:
    parts = [('v', _at(priority['v'], index)),
             ('psi', _at(priority.get('psi') or [], index)),
             ('eta', _at(priority.get('eta') or [], index)),
             ('mu', priority.get('mu'))]
    return '<br>'.join(
        f'{name} = {"none" if value is None else format(value, ".4g")}'
        for name, value in parts)
