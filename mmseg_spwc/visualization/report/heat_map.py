"""A heat map with steps along the bottom."""
import matplotlib
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
    parts = matplotlib.colormaps[SEQUENTIAL.lower()](float(fraction))[:3]
    red, green, blue = (
        v / 12.92 if v <= .04045 else ((v + .055) / 1.055)**2.4
        for v in parts)
    luminance = .2126 * red + .7152 * green + .0722 * blue
    return '#000000' if luminance > .179 else '#ffffff'
