"""A table as plain text, Markdown or LaTeX."""
from collections.abc import Sequence
from dataclasses import dataclass, field

from .scores import Spread


@dataclass(frozen=True)
class Column:
    """One column of numbers.

    Args:
        label (str): Its heading.
        scale (float): What values are multiplied with for printing.
        digits (int): Decimals that are printed.
        better (int): 1 where larger is better, -1 where smaller is.
        title (str): A longer heading, for those who ask.
    """
    label: str
    scale: float = 100.
    digits: int = 1
    better: int = 1
    title: str = ''

    def text(self, value: Spread, plus_minus: str = '±') -> str:
        """A value as it is printed; '-' where there is none."""
        if value.mean is None:
            return '-'
        text = f'{self.scale * value.mean:.{self.digits}f}'
        if value.sd is not None:
            text += f'{plus_minus}{self.scale * value.sd:.{self.digits}f}'
        return text


@dataclass(frozen=True)
class Table:
    """Numbers of several methods.

    Args:
        corner (str): Heading of the methods' names.
        columns (list[Column]): What the numbers are.
        labels (list[str]): The methods.
        rows (list[list[Spread]]): One row per method.
        note (str): What stands below.
        partial (list[bool]): Methods that are not done yet, which are no
            rivals for the best value. Defaults to none.
    """
    corner: str
    columns: list
    labels: list
    rows: list
    note: str = ''
    partial: list = field(default_factory=list)
    best: list = field(init=False)  # rows x columns of bool

    def __post_init__(self) -> None:
        partial = self.partial or [False] * len(self.rows)
        nothing = Spread(None, None)
        marks = [
            _best(column, [nothing if unfinished else row[i]
                           for row, unfinished in zip(
                               self.rows, partial, strict=True)])
            for i, column in enumerate(self.columns)
        ]
        rows = [[column[r] for column in marks]
                for r in range(len(self.rows))]
        object.__setattr__(self, 'best', rows)

    def header(self) -> list[str]:
        return [self.corner, *(column.label for column in self.columns)]

    def cells(self, plus_minus: str = '±') -> list[list[str]]:
        """The printed rows, the methods' names left out."""
        return [[
            column.text(value, plus_minus)
            for column, value in zip(self.columns, row, strict=True)
        ] for row in self.rows]


def _best(column: Column, values: Sequence[Spread]) -> list[bool]:
    """Which values are best as printed; none where there is no rival."""
    means = [v.mean if v.mean is None else column.better * round(
        column.scale * v.mean, column.digits) for v in values]
    known = [m for m in means if m is not None]
    if len(known) < 2 or min(known) == max(known):
        return [False] * len(values)
    return [m == max(known) for m in means]


def to_text(table: Table) -> str:
    """Aligned columns for a terminal."""
    rows = [[label, *cells]
            for label, cells in zip(table.labels, table.cells(), strict=True)]
    header = table.header()
    widths = [max(len(row[i]) for row in [header, *rows])
              for i in range(len(header))]
    lines = [
        '  '.join(cell.ljust(w) if i == 0 else cell.rjust(w)
                  for i, (cell, w) in enumerate(zip(row, widths, strict=True)))
        for row in [header, *rows]
    ]
    lines.insert(1, '-' * len(lines[0]))
    return '\n'.join([*lines, *filter(None, [table.note])])


def to_markdown(table: Table) -> str:
    """A table of GitHub's Markdown, the best in bold."""
    lines = [table.header(), ['---', *['---:'] * len(table.columns)]]
    for label, cells, best in zip(
            table.labels, table.cells(), table.best, strict=True):
        marked = [f'**{cell}**' if is_best else cell
                  for cell, is_best in zip(cells, best, strict=True)]
        lines.append([_markdown(label), *marked])
    text = '\n'.join(f'| {" | ".join(line)} |' for line in lines)
    return f'{text}\n\n{_markdown(table.note)}' if table.note else text


def to_latex(table: Table) -> str:
    """A ``tabular`` with the rules of booktabs, the best in bold."""
    header = ' & '.join(map(_latex, table.header()))
    lines = [
        rf'\begin{{tabular}}{{l{"r" * len(table.columns)}}}', r'\toprule',
        header + r' \\', r'\midrule'
    ]
    for label, cells, best in zip(
            table.labels, table.cells(r'$\pm$'), table.best, strict=True):
        marked = [rf'\textbf{{{cell}}}' if is_best else cell
                  for cell, is_best in zip(cells, best, strict=True)]
        lines.append(' & '.join([_latex(label), *marked]) + r' \\')
    lines += [r'\bottomrule', r'\end{tabular}']
    if table.note:
        lines.append(f'% {" ".join(table.note.split())}')
    return '\n'.join(lines)


def _markdown(text: str) -> str:
    return ''.join(rf'\{c}' if c in r'\|*_`<>[]' else c for c in text)


def _latex(text: str) -> str:
    names = {
        '\\': r'\textbackslash{}', '~': r'\textasciitilde{}',
        '^': r'\textasciicircum{}'
    }
    return ''.join(
        names.get(c) or (rf'\{c}' if c in '&%$#_{}' else c) for c in text)


FORMATS = dict(text=to_text, markdown=to_markdown, latex=to_latex)
