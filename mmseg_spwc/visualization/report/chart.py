"""Plotly figures on their way into the page: lines and heat maps."""
import functools
import html
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib
import plotly.graph_objects as go

from ..palette import SEQUENTIAL, colour, dash, symbol
from ..runs import Group
from ..scores import Spread
from ..table_formats import Table

MANY = 100  # of more steps only so many are drawn


@dataclass(frozen=True)
class Chart:
    """One chart.

    Args:
        title (str): Its heading.
        figure (go.Figure): Colours of axes and text are the page's matter.
        summary (str): What it shows, for those who cannot see it.
        group (str, optional): Key of the group that it belongs to alone, so
            that it goes when the group is switched off.
        table (Table, optional): The same numbers, for the keyboard.
        keys (tuple[str]): Groups of the table's rows.
    """
    title: str
    figure: go.Figure
    summary: str
    group: str | None = None
    table: Table | None = None
    keys: tuple = ()

    @property
    def json(self) -> str:
        """The figure for a script element.

        Strings are the only place of JSON where a ``<`` can be, so nothing
        in it can end the element.
        """
        return self.figure.to_json().replace('<', '\\u003c')

    @property
    def height(self) -> int:
        return self.figure.layout.height


def plain(text: str) -> str:
    """Text that plotly shows as it is, without reading tags in it."""
    return html.escape(text, quote=False)


def thinned(items: Sequence, most: int = MANY) -> list:
    """Some of many items, at equal distances, the first and last included."""
    if len(items) <= most:
        return list(items)
    last = len(items) - 1
    return [items[i * last // (most - 1)] for i in range(most)]


def figure(traces: list, height: int = 360, **layout) -> go.Figure:
    """A figure in the report's style."""
    base = go.Layout(
        height=height,
        margin=dict(l=56, r=16, t=16, b=48),
        hovermode='closest',
        legend=dict(orientation='h', yanchor='bottom', y=1.02, x=0),
        template='none')
    return go.Figure(traces, base).update_layout(**layout)


def step_axis(steps: list[int], title: str = 'after step') -> dict:
    """An axis with a tick at every step, or at some of many."""
    steps = thinned(steps)
    return dict(title=title, tickmode='array', tickvals=steps,
                ticktext=[str(s) for s in steps], zeroline=False)


def rgba(hexadecimal: str, opacity: float) -> str:
    """A colour as plotly wants a see-through one."""
    parts = [int(hexadecimal[i:i + 2], 16) for i in (1, 3, 5)]
    return f'rgba({parts[0]},{parts[1]},{parts[2]},{opacity})'


def method_lines(group: Group, values: dict[int, Spread],
                 unit: str = '') -> list[go.Scatter]:
    """Return the mean line of a method and the band of one deviation.

    Args:
        group (Group): The method.
        values (dict[int, Spread]): By step, in the chart's unit.
        unit (str): The unit, for the hover text.
    """
    known = {s: v for s, v in values.items() if v.mean is not None}
    common = dict(legendgroup=group.key, meta=dict(group=group.key))
    name = plain(group.label)
    if len(group.runs) > 1:
        name += f' ({len(group.runs)} seeds)'
    traces = []
    banded = {s: v for s, v in known.items() if v.sd is not None}
    if banded:
        upper = [v.mean + v.sd for v in banded.values()]
        lower = [v.mean - v.sd for v in banded.values()]
        traces.append(go.Scatter(
            x=[*banded, *reversed(banded)], y=[*upper, *reversed(lower)],
            fill='toself', fillcolor=rgba(colour(group.index), 0.18),
            mode='none', hoverinfo='skip', showlegend=False,
            name=name, **common))
    spreads = [f' ± {v.sd:.1f}' if v.sd is not None else ''
               for v in known.values()]
    traces.append(go.Scatter(
        x=list(known), y=[v.mean for v in known.values()], name=name,
        mode='lines+markers', customdata=spreads,
        line=dict(color=colour(group.index), dash=dash(group.index)),
        marker=dict(symbol=symbol(group.index), size=8),
        hovertemplate=f'%{{fullData.name}}<br>step %{{x}}: %{{y:.1f}}'
        f'%{{customdata}}{unit}<extra></extra>',
        **common))
    return traces


def heat_map(rows: list[str], steps: list[int], values: list[list],
             hover: list[list[str]], top: float, title: str,
             text: list[list[str]] | None = None,
             bottom: float = 0.) -> go.Figure:
    """Draw values by row and step.

    Whoever has more than ``MANY`` steps gives some of them, see
    :func:`thinned`.

    Args:
        rows (list[str]): Names of the rows, all different, from the top; not
            escaped.
        steps (list[int]): The steps.
        values (list[list]): Rows x steps; None leaves a gap.
        hover (list[list[str]]): What a cell says, below its row and step.
        top (float): The value of the brightest colour.
        title (str): What the colours mean.
        text (list[list[str]], optional): What stands in the cells.
        bottom (float): The value of the darkest colour.
    """
    names = [plain(name) for name in rows]
    trace = go.Heatmap(
        x=[str(s) for s in steps], y=names, z=values, zmin=bottom, zmax=top,
        customdata=hover, colorscale=SEQUENTIAL,
        xgap=1, ygap=1, hoverongaps=False,
        colorbar=dict(title=dict(text=title, side='right'), thickness=12),
        hovertemplate='%{y}<br>after step %{x}<br>%{customdata}'
        '<extra></extra>')
    traces = [trace]
    if text:
        traces.append(_cell_texts(names, steps, values, text, bottom, top))
    axis = step_axis(steps)
    axis.update(tickvals=[str(s) for s in steps], type='category',
                showgrid=False)
    return figure(
        traces, 110 + max(22 * len(rows), 90),
        margin=dict(l=8, r=8, t=8, b=44), dragmode=False, xaxis=axis,
        yaxis=dict(autorange='reversed', type='category', automargin=True,
                   showgrid=False))


def _cell_texts(names: list[str], steps: list[int], values: list[list],
                text: list[list[str]], bottom: float,
                top: float) -> go.Scatter:
    """Texts in the cells; plotly's own would be grey on grey in the middle."""
    cells = [(str(step), name, text[r][c], values[r][c])
             for r, name in enumerate(names) for c, step in enumerate(steps)
             if values[r][c] is not None]
    return go.Scatter(
        x=[cell[0] for cell in cells], y=[cell[1] for cell in cells],
        text=[cell[2] for cell in cells], mode='text', hoverinfo='skip',
        showlegend=False, textfont=dict(color=[
            readable((cell[3] - bottom) / (top - bottom)) for cell in cells]))


def readable(fraction: float) -> str:
    """Black or white: whichever has more contrast on a colour of the scale.

    The relative luminance is that of WCAG 2; above 0.179 black wins, and the
    winner has a contrast of at least 4.5.
    """
    colours = matplotlib.colormaps[SEQUENTIAL.lower()]
    return _readable(min(int(fraction * colours.N), colours.N - 1))


@functools.cache
def _readable(index: int) -> str:
    parts = matplotlib.colormaps[SEQUENTIAL.lower()](index)[:3]
    red, green, blue = (
        v / 12.92 if v <= .04045 else ((v + .055) / 1.055)**2.4
        for v in parts)
    luminance = .2126 * red + .7152 * green + .0722 * blue
    return '#000000' if luminance > .179 else '#ffffff'
