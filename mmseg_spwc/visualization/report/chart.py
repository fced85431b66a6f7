"""A plotly figure on its way into the page."""
import html
from dataclasses import dataclass

import plotly.graph_objects as go

from ..table_formats import Table


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
    """An axis with a tick at every step."""
    return dict(title=title, tickmode='array', tickvals=steps,
                ticktext=[str(s) for s in steps], zeroline=False)
