"""The charts of the page, by Plotly: lines and heat maps."""
import functools
import html
import math
from collections.abc import Callable
from dataclasses import dataclass

import matplotlib
import numpy as np
import plotly.graph_objects as go

from mmseg_spwc.record import Record

from .. import series
from ..palette import OKABE_ITO, SEQUENTIAL, colour, dash, symbol
from ..runs import Comparison, Group
from ..scores import (
    is_classification,
    matrix,
    percent,
    score_name,
    scores_by_step,
)
from ..series import MANY, Curve, Grid, thinned
from ..tables import Column, Table

POINTS = 5000  # of a line of losses that are drawn
# not learnt yet, learnt before, learnt now
STATES = (('not yet', 'rgba(128,128,128,0.15)'),
          ('learnt before', '#56B4E9'), ('learnt now', '#0072B2'))


@dataclass(frozen=True)
class Chart:
    """One chart; colours of axes and text are the page's matter."""
    title: str
    figure: go.Figure
    summary: str  # for screen readers
    group: str | None = None  # key of the group that it goes with
    table: Table | None = None  # the same numbers, for the keyboard
    keys: tuple = ()  # groups of the table's rows

    @property
    def json(self) -> str:
        """The figure for a script element, which a ``<`` could end."""
        return self.figure.to_json().replace('<', '\\u003c')

    @property
    def height(self) -> int:
        return self.figure.layout.height


def plain(text: str) -> str:
    """Text that plotly shows as it is, without reading tags in it."""
    return html.escape(text, quote=False)


def _figure(traces: list, height: int, **layout) -> go.Figure:
    base = go.Layout(
        height=height, margin=dict(l=56, r=16, t=16, b=48),
        hovermode='closest', template='none',
        legend=dict(orientation='h', yanchor='bottom', y=1.02, x=0))
    return go.Figure(traces, base).update_layout(**layout)


def _step_axis(steps: list[int], title: str) -> dict:
    """An axis with a tick at every step, or at some of many."""
    steps = thinned(steps)
    return dict(title=title, tickmode='array', tickvals=steps,
                ticktext=[str(s) for s in steps], zeroline=False)


def _line_traces(lines: series.Lines, unit: str) -> list[go.Scatter]:
    """The mean line of every method and the band of one deviation."""
    traces = []
    for group, values in lines:
        shade = colour(group.index)
        known = {s: v for s, v in values.items() if v.mean is not None}
        banded = {s: v for s, v in known.items() if v.sd is not None}
        seeds = f' ({len(group.runs)} seeds)' * (len(group.runs) > 1)
        common = dict(name=plain(group.label) + seeds,
                      legendgroup=group.key, meta=dict(group=group.key))
        if banded:
            red, green, blue = (int(shade[i:i + 2], 16) for i in (1, 3, 5))
            upper = [v.mean + v.sd for v in banded.values()]
            lower = [v.mean - v.sd for v in banded.values()]
            traces.append(go.Scatter(
                x=[*banded, *reversed(banded)], y=[*upper, *reversed(lower)],
                fill='toself', fillcolor=f'rgba({red},{green},{blue},0.18)',
                mode='none', hoverinfo='skip', showlegend=False, **common))
        traces.append(go.Scatter(
            x=list(known), y=[v.mean for v in known.values()],
            mode='lines+markers',
            customdata=['' if v.sd is None else f' ± {v.sd:.1f}'
                        for v in known.values()],
            line=dict(color=shade, dash=dash(group.index)[0]),
            marker=dict(symbol=symbol(group.index)[0], size=8),
            hovertemplate='%{fullData.name}<br>step %{x}: %{y:.1f}'
            f'%{{customdata}}{unit}<extra></extra>', **common))
    return traces


def score_charts(comparison: Comparison) -> list[Chart]:
    """One chart with a line for each method."""
    steps, name = comparison.steps, score_name(comparison.example)
    lines = series.lines(comparison, scores_by_step)
    # close lines high up need the room that zero would take
    means = [v.mean for _, values in lines for v in values.values()
             if v.mean is not None]
    high = bool(means) and 2 * min(means) > max(means)
    drawn = _figure(
        _line_traces([(group, {s: v.times(100) for s, v in values.items()})
                      for group, values in lines], ' %'),
        400, xaxis=_step_axis(steps, 'after step'),
        yaxis=dict(title=f'{name} of all learnt so far, %',
                   rangemode='normal' if high else 'tozero'))
    table = Table(
        'after step', [Column(str(s)) for s in steps],
        [group.label for group, _ in lines],
        [[values.get(s, series.NOTHING) for s in steps]
         for _, values in lines])
    return [Chart('', drawn,
                  f'Lines of {name} after each step, one for each method.',
                  table=table, keys=tuple(group.key for group, _ in lines))]


def cost_charts(comparison: Comparison) -> list[Chart]:
    """A chart of the time and one of the memory."""
    charts = []
    for title, key, unit, scale, suffix in (
            ('Time by step', 'wall_time', 'seconds', 1, ' s'),
            ('Peak memory by step', 'peak_memory', 'MiB', 1 / 2**20, ' MiB')):
        lines = series.lines(comparison, lambda record, k=key, by=scale: {
            s['step']: by * s['cost'][k] for s in record.steps})
        drawn = _figure(
            _line_traces(lines, suffix), 320,
            xaxis=_step_axis(comparison.steps, 'step'),
            yaxis=dict(title=unit, rangemode='tozero'))
        charts.append(Chart(
            title, drawn, f'Lines of {unit} by step for each method.'))
    return charts


def loss_charts(comparison: Comparison) -> list[Chart]:
    """One chart for each term that any run has recorded."""
    ends = [series.boundaries(run.record) for run in comparison.runs]
    # a run that stopped early has the first of the others' boundaries
    longest = max(ends, key=len)
    agree = all(longest[:len(other)] == other for other in ends)
    marks = longest[:-1] if agree and len(longest) <= MANY else []
    found: dict[str, dict] = {}
    for group in comparison.groups:
        for run in group.runs:
            for term, curve in series.sequence_curves(run.record).items():
                traces = found.setdefault(term, {}).setdefault(group.key, [])
                traces.append(_loss_trace(group, group.run_label(run), curve,
                                          not traces))
    return [
        Chart(term, _figure(
            sum(found[term].values(), []), 300,
            xaxis=dict(title='iteration of the whole sequence'),
            yaxis=dict(title=plain(term), rangemode='tozero'),
            shapes=[dict(type='line', x0=x, x1=x, y0=0, y1=1, yref='paper',
                         line=dict(dash='dot', width=1, color='#888'))
                    for x in marks]),
            f'Curves of {term} over the iterations of all steps; dotted '
            'lines are the ends of steps.')
        for term in sorted(found, key=lambda term: (term != 'loss', term))]


def _loss_trace(group: Group, label: str, curve: Curve,
                named: bool) -> go.Scatter:
    every = -(-len(curve.values) // POINTS)
    drawn = [i for i, value in enumerate(curve.values)
             if value is None or i % every == 0]
    x, y, steps = ([values[i] for i in drawn] for values in curve)
    return go.Scatter(
        x=x, y=y, customdata=steps, name=plain(group.label),
        text=plain(label), mode='lines', legendgroup=group.key,
        showlegend=named, meta=dict(group=group.key),
        # dashes would hide a curve that goes up and down
        line=dict(color=colour(group.index), width=1.5,
                  dash=dash(group.index // len(OKABE_ITO))[0]),
        hovertemplate='%{text}<br>step %{customdata}, iteration %{x}: '
        '%{y:.4g}<extra></extra>')


def heat_map(grid: Grid, hover: list[list[str]], top: float,
             title: str | None, text: list[list[str]] | None = None,
             bottom: float = 0., axis: str = 'after step',
             **trace) -> go.Figure:
    """Draw at most ``MANY`` steps, in colours from bottom to top.

    ``hover`` tells what a cell says, ``text`` what stands in it, ``title``
    what the colours mean (None for no scale).
    """
    names = [plain(name) for name in _distinct(grid.names)]
    steps = [str(s) for s in grid.steps]
    traces = [go.Heatmap(**{**dict(
        x=steps, y=names, z=grid.values, zmin=bottom, zmax=top,
        customdata=hover, colorscale=SEQUENTIAL, xgap=1, ygap=1,
        hoverongaps=False, showscale=title is not None,
        colorbar=dict(title=dict(text=title, side='right'), thickness=12),
        hovertemplate=f'%{{y}}<br>{axis} %{{x}}<br>%{{customdata}}'
        '<extra></extra>'), **trace})]
    if text:
        cells = [(x, y, text[r][c], readable((v - bottom) / (top - bottom)))
                 for r, y in enumerate(names) for c, x in enumerate(steps)
                 if (v := grid.values[r][c]) is not None]
        x, y, texts, shades = map(list, zip(*cells, strict=True))
        # plotly's own texts would be grey on grey in the middle
        traces.append(go.Scatter(
            x=x, y=y, text=texts, mode='text', hoverinfo='skip',
            showlegend=False, textfont=dict(color=shades)))
    row = 22 if len(names) < 60 else 14
    return _figure(
        traces, 110 + max(row * len(names), 90), dragmode=False,
        margin=dict(l=8, r=8, t=8, b=44),
        xaxis=dict(_step_axis(grid.steps, axis), tickvals=thinned(steps),
                   type='category', showgrid=False),
        yaxis=dict(autorange='reversed', type='category', automargin=True,
                   tickmode='linear', showgrid=False))


def _distinct(names: list[str]) -> list[str]:
    """Plotly draws rows of one name over each other."""
    return [f'{name} ({i})' if names.count(name) > 1 else name
            for i, name in enumerate(names)]


def readable(fraction: float) -> str:
    """Black or white: whichever has more contrast on a colour of the scale.

    The relative luminance is that of WCAG 2; above 0.179 black wins, and the
    winner has a contrast of at least 4.5.
    """
    shades = _readable_on_scale()
    return shades[min(int(fraction * len(shades)), len(shades) - 1)]


@functools.cache
def _readable_on_scale() -> list[str]:
    scale = matplotlib.colormaps[SEQUENTIAL.lower()]
    colours = scale(np.arange(scale.N))[:, :3]
    linear = np.where(colours <= .04045, colours / 12.92,
                      ((colours + .055) / 1.055)**2.4)
    return ['#000000' if luminance > .179 else '#ffffff'
            for luminance in linear @ (.2126, .7152, .0722)]


def scenario_charts(comparison: Comparison) -> list[Chart]:
    """The picture of the scenario, if the record tells its steps."""
    record = comparison.example
    steps = record.content['scenario'].get('steps') or []
    times = thinned(range(len(steps)))
    rows = [(name, t) for t in times
            for name in _new_names(record, t, steps[t])]
    states = [[(t <= now) + (t == now) for now in times] for _, t in rows]
    drawn = heat_map(
        Grid('class', [name for name, _ in rows], times, states),
        [[STATES[state][0] for state in row] for row in states], 2, None,
        axis='step',
        colorscale=[[i / 2, shade] for i, (_, shade) in enumerate(STATES)])
    return [Chart(
        '', drawn,
        'Grid of classes by steps: dark blue where a class is learnt, light '
        'blue where it was learnt before, grey before it arrives.')
            ] if steps else []


def _new_names(record: Record, step: int, units: list) -> list[str]:
    """Names of what a step brings; ids where no step got that far.

    A step of a classification is one row: there may be hundreds of classes.
    """
    if is_classification(record):
        domain = record.content['scenario'].get('kind') == 'domain'
        return [f'step {step}: ' + (', '.join(map(str, units)) if domain else
                                    f'{len(units)} classes')]
    entry = max(record.steps, key=lambda s: len(s['classes']), default={})
    known = dict(zip(entry.get('class_ids', []), entry.get('classes', []),
                     strict=False))
    named = [str(known.get(unit, unit)) for unit in units]
    if step == 0 and 0 in known and 0 not in units:
        named.insert(0, known[0])
    return named


def _per_run(comparison: Comparison, chosen: Callable, what: str,
             draw: Callable) -> list[Chart]:
    """One heat map for each run that is chosen.

    ``draw`` gives the end of the title and the figure of a record.
    """
    charts = []
    for group in comparison.groups:
        for run in group.runs:
            if chosen(run.record):
                label, count = group.run_label(run), len(run.record.steps)
                title, drawn = draw(run.record)
                left_out = f' ({MANY} of {count} steps)' * (count > MANY)
                charts.append(Chart(label + title + left_out, drawn,
                                    f'{what} of {label}.', group.key))
    return charts


def _known(grids: list[Grid]) -> list[float]:
    return [value for grid in grids for row in grid.values for value in row
            if value is not None]


def _mapped(grid: Grid, function: Callable) -> list[list]:
    return [[None if value is None else function(value) for value in row]
            for row in grid.values]


def _percents(grid: Grid) -> Grid:
    return grid._replace(values=_mapped(grid, lambda value: 100 * value))


def class_charts(comparison: Comparison) -> list[Chart]:
    """One heat map for each run, all in the same colours.

    The darkest is the lowest score, rounded down to tens, so that scores
    which are all high can be told apart.
    """
    known = _known([series.scores(run.record) for run in comparison.runs])
    bottom = 10 * math.floor(min(10 * min(known, default=0.), 9))
    what = 'accuracy' if is_classification(comparison.example) else 'IoU'

    def draw(record: Record) -> tuple[str, go.Figure]:
        grid = series.scores(record).some()
        hover = [[f'{what} {percent(v)} %' for v in row]
                 for row in grid.values]
        return '', heat_map(_percents(grid), hover, 100, f'{what}, %',
                            bottom=bottom)

    return _per_run(comparison, lambda record: record.steps,
                    f'Heat map of {what} over the steps', draw)


def forgetting_charts(comparison: Comparison) -> list[Chart]:
    """One matrix for each run that has more than one step.

    All have the same colours: the brightest is the most that any run lost,
    rounded up to tens.
    """
    known = _known([series.lost(run.record) for run in comparison.runs])
    top = 10 * max(1, math.ceil(10 * max(known, default=0.)))

    def draw(record: Record) -> tuple[str, go.Figure]:
        scores, lost = (g(record).some()
                        for g in (series.step_scores, series.lost))
        hover = [[
            f'score {percent(score)} %, {percent(value)} points below its best'
            for score, value in zip(*rows, strict=True)
        ] for rows in zip(scores.values, lost.values, strict=True)]
        text = _mapped(lost, lambda value: f'{100 * value:.0f}')
        found = matrix(record)
        title = '' if found is None else \
            f': forgetting {percent(found.forgetting())}, ' \
            f'BWT {percent(found.bwt())}'
        return title, heat_map(_percents(lost), hover, top, 'points lost',
                               text)

    return _per_run(comparison, lambda r: len(series.lost(r).names) > 1,
                    'Matrix of points lost by each step', draw)


def priority_charts(comparison: Comparison) -> list[Chart]:
    """One heat map for each run that has priorities."""

    def draw(record: Record) -> tuple[str, go.Figure]:
        grids = {key: series.priorities(record, key).some()
                 for key in ('v', 'psi', 'eta')}
        v = grids['v']
        chosen = [record.step(step)['priority'] for step in v.steps]
        hover = [['<br>'.join(
            f'{key} = {"none" if x is None else format(x, ".4g")}'
            for key, x in [*((k, g.values[r][c]) for k, g in grids.items()),
                           ('mu', chosen[c].get('mu'))])
            for c in range(len(v.steps))] for r in range(len(v.names))]
        return f': rule {chosen[0].get("rule", "unknown")}', heat_map(
            v, hover, max([1., *_known([v])]), 'v',
            axis='while learning step')

    return _per_run(comparison, lambda r: series.priorities(r).steps,
                    'Heat map of the priority weights', draw)
