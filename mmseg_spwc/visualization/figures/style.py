"""One look for all figures, and how they are written."""
import functools
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mmseg_spwc.utils.files import atomic_path

from ..palette import colour
from ..runs import Group
from ..scores import Spread
from ..table_formats import Table, to_latex, to_markdown

COLUMN = 3.5  # inches, one column of an IEEE paper
MARKERS = 'osD^PX*'
LINES = ('-', '--', ':', '-.')
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
           height: float = 2.3, **options) -> tuple[Figure, list[Axes]]:
    """A figure, and its axes in reading order.

    Args:
        columns (int): Panels beside each other.
        rows (int): Panels above each other.
        width (float): Of one panel, in inches.
        height (float): Of one panel, in inches.
        **options: Those of ``Figure.subplots``.
    """
    figure = Figure((columns * width, rows * height), layout='constrained')
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(axes.flat)


def wrapped(count: int, width: float, height: float,
            most: int = 3) -> tuple[Figure, list[Axes]]:
    """A figure with at most ``most`` panels beside each other.

    Args:
        count (int): Panels in all.
        width (float): Of one panel, in inches.
        height (float): Of one panel, in inches.
        most (int): Panels in a row.
    """
    columns = min(count, most)
    figure, axes = panels(columns, -(-count // columns), width, height)
    for spare in axes[count:]:
        spare.set_axis_off()
    return figure, axes[:count]


def count_axis(axes: Axes, label: str) -> None:
    """Label the horizontal axis, with ticks at whole numbers only."""
    axes.set_xlabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def line(axes: Axes, group: Group, x: Sequence, values: Sequence[Spread],
         scale: float = 1.) -> None:
    """Draw the mean of a method and a band of one standard deviation."""
    points = [(a, v) for a, v in zip(x, values, strict=True)
              if v.mean is not None]
    if not points:
        return
    places = [a for a, _ in points]
    means = [scale * v.mean for _, v in points]
    spreads = [scale * (v.sd or 0) for _, v in points]
    shade = colour(group.index)
    axes.plot(places, means, color=shade, label=group.label,
              marker=MARKERS[group.index % len(MARKERS)],
              # lines that coincide are still seen
              linestyle=LINES[group.index % len(LINES)])
    if any(spreads):
        axes.fill_between(
            places, [m - s for m, s in zip(means, spreads, strict=True)],
            [m + s for m, s in zip(means, spreads, strict=True)],
            color=shade, alpha=.18, linewidth=0)


def save(result: Figure | Table, out: str | Path) -> list[Path]:
    """Write a figure as PNG and PDF, a table as Markdown and LaTeX.

    Args:
        result (Figure | Table): What a figure's ``draw`` returned.
        out (str | Path): The files, without suffix.
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
