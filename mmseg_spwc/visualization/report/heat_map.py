"""A heat map with steps along the bottom."""
import plotly.graph_objects as go

from ..palette import SEQUENTIAL
from .chart import figure, plain, step_axis


def heat_map(rows: list[str], steps: list[int], values: list[list],
             hover: list[list[str]], top: float, title: str,
             text: list[list[str]] | None = None,
             bottom: float = 0.) -> go.Figure:
    """Draw values by row and step.

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
        text=text or [[''] * len(steps) for _ in rows],
        texttemplate='%{text}', customdata=hover, colorscale=SEQUENTIAL,
        xgap=1, ygap=1, hoverongaps=False,
        colorbar=dict(title=dict(text=title, side='right'), thickness=12),
        hovertemplate='%{y}<br>after step %{x}<br>%{customdata}'
        '<extra></extra>')
    axis = step_axis(steps)
    axis.update(tickvals=[str(s) for s in steps], type='category',
                showgrid=False)
    return figure(
        [trace], 110 + max(22 * len(rows), 90),
        margin=dict(l=8, r=8, t=8, b=44), dragmode=False, xaxis=axis,
        yaxis=dict(autorange='reversed', type='category', automargin=True,
                   showgrid=False))
