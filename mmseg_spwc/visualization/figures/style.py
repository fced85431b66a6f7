"""One look for all figures, and how they are written."""
import functools
from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mmseg_spwc.utils.files import atomic_path

from ..palette import colour, dash, symbol
from ..series import Lines
from ..tables import Table, to_latex, to_markdown

COLUMN = 3.5  # inches, one column of an IEEE paper
STYLE = {
    'font.size': 8, 'axes.labelsize': 8, 'axes.titlesize': 8,
    'legend.fontsize': 7, 'xtick.labelsize': 7, 'ytick.labelsize': 7,
    'axes.spines.top': False, 'axes.spines.right': False,
    'axes.grid': True, 'axes.axisbelow': True,
    'grid.linewidth': .4, 'grid.alpha': .5,
    'lines.linewidth': 1.2, 'lines.markersize': 3.5,
    'legend.frameon': False, 'image.cmap': 'cividis',
    'pdf.fonttype': 42,  # editable text; journals refuse type 3
    'savefig.dpi': 300, 'savefig.bbox': 'tight', 'text.usetex': False,
    'text.parse_math': False,  # names are text, whatever they contain
}


def styled(draw: Callable) -> Callable:
    """Have a function draw in the common style."""

    @functools.wraps(draw)
    def wrapper(*args, **kwargs):
        with matplotlib.rc_context(STYLE):
            return draw(*args, **kwargs)

    return wrapper


def panels(columns: int = 1, rows: int = 1, width: float = COLUMN,
           height: float = 2.3) -> tuple[Figure, list[Axes]]:
    """A figure, and its axes in reading order; sizes are of one panel."""
    figure = Figure((columns * width, rows * height), layout='constrained')
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def wrapped(count: int, width: float,
            height: float) -> tuple[Figure, list[Axes]]:
    """A figure with at most three panels beside each other."""
    columns = min(count, 3)
    figure, axes = panels(columns, -(-count // columns), width, height)
    for spare in axes[count:]:
        spare.set_axis_off()
    return figure, axes[:count]


def count_axis(axes: Axes, label: str) -> None:
    """Label the horizontal axis, with ticks at whole numbers only."""
    axes.set_xlabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def draw_lines(axes: Axes, lines: Lines, scale: float = 1.) -> None:
    """Draw the mean of every method and a band of one deviation."""
    for group, values in lines:
        known = {x: v for x, v in values.items() if v.mean is not None}
        means = scale * np.array([v.mean for v in known.values()])
        spreads = scale * np.array([v.sd or 0. for v in known.values()])
        shade = colour(group.index)
        axes.plot(list(known), means, color=shade, label=group.label,
                  marker=symbol(group.index)[1],
                  linestyle=dash(group.index)[1])
        if spreads.any():
            axes.fill_between(list(known), means - spreads, means + spreads,
                              color=shade, alpha=.18, linewidth=0)


def save(result: Figure | Table, out: str | Path) -> list[Path]:
    """Write a figure as PNG and PDF, a table as Markdown and LaTeX.

    ``out`` has no suffix.
    """
    if isinstance(result, Table):
        texts = {'.md': to_markdown(result), '.tex': to_latex(result)}
        for suffix, text in texts.items():
            with atomic_path(f'{out}{suffix}') as path:
                path.write_text(text + '\n', encoding='utf-8')
        return [Path(f'{out}{suffix}') for suffix in texts]
    with matplotlib.rc_context(STYLE):
        for form in ('png', 'pdf'):
            # no date inside: the same record gives the same file
            stamp = {'CreationDate': None} if form == 'pdf' else {}
            with atomic_path(f'{out}.{form}') as path:
                result.savefig(path, format=form, metadata=stamp)
    return [Path(f'{out}.png'), Path(f'{out}.pdf')]
