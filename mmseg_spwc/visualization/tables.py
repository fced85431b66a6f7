"""Tables in the layout of the paper, in three forms, and the main numbers."""
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from mmseg_spwc.record import Record

from .runs import Comparison, Group, Run, compare
from .scores import (
    Spread,
    average_score,
    final_score,
    forgetting,
    is_classification,
    percent,
    score_name,
    spread,
    unit_names,
    unit_scores,
)


@dataclass(frozen=True)
class Column:
    """One column of numbers, printed as ``scale`` times the value."""
    label: str
    scale: float = 100.
    digits: int = 1
    better: int = 1  # -1 where smaller is better, 0 where neither is
    title: str = ''  # a longer heading, shown on hovering

    def texts(self, value: Spread) -> tuple[str, str]:
        """Mean and deviation as they are printed, '-' and '' for none."""
        return tuple(
            none if part is None else f'{self.scale * part:.{self.digits}f}'
            for part, none in zip(value, ('-', ''), strict=True))

    def text(self, value: Spread, plus_minus: str = '±') -> str:
        return plus_minus.join(filter(None, self.texts(value)))


@dataclass(frozen=True)
class Table:
    """Numbers of several methods, one row for each."""
    corner: str  # heading of the methods' names
    columns: list[Column]
    labels: list[str]
    rows: list[list[Spread]]
    partial: list[bool] = field(default_factory=list)  # are not done yet

    @functools.cached_property
    def best(self) -> list[list[bool]]:
        """Which values are best; unfinished rows do not compete."""
        partial = self.partial or [False] * len(self.rows)
        marks = [_best(column, [
            None if unfinished else row[i].mean
            for row, unfinished in zip(self.rows, partial, strict=True)
        ]) for i, column in enumerate(self.columns)]
        return [list(row) for row in zip(*marks, strict=True)]

    def lines(self, escape: Callable = str, bold: str = '{}',
              plus_minus: str = '±') -> list[list[str]]:
        """Texts of all cells, the heading in front, the best in bold."""
        lines = [[escape(self.corner), *(escape(c.label)
                                         for c in self.columns)]]
        for label, row, best in zip(self.labels, self.rows, self.best,
                                    strict=True):
            cells = [column.text(value, plus_minus)
                     for column, value in zip(self.columns, row, strict=True)]
            lines.append([escape(label), *(
                bold.format(cell) if mark else cell
                for cell, mark in zip(cells, best, strict=True))])
        return lines


def _best(column: Column, values: Sequence[float | None]) -> list[bool]:
    """Which values are best as printed; none if all are equal."""
    means = [v if v is None else column.better * round(
        column.scale * v, column.digits) for v in values]
    known = [m for m in means if m is not None]
    if len(known) < 2 or min(known) == max(known):
        return [False] * len(values)
    return [m == max(known) for m in means]


def to_text(table: Table) -> str:
    """Aligned columns for a terminal."""
    rows = table.lines()
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ['  '.join([row[0].ljust(widths[0]), *map(
        str.rjust, row[1:], widths[1:])]) for row in rows]
    lines.insert(1, '-' * len(lines[0]))
    return '\n'.join(lines)


def to_markdown(table: Table) -> str:
    """A table of GitHub's Markdown, the best in bold."""
    lines = table.lines(_markdown, '**{}**')
    lines.insert(1, ['---', *['---:'] * len(table.columns)])
    return '\n'.join(f'| {" | ".join(line)} |' for line in lines)


def to_latex(table: Table) -> str:
    """A ``tabular`` with the rules of booktabs, the best in bold."""
    header, *rows = (' & '.join(line) + r' \\' for line in table.lines(
        _latex, r'\textbf{{{}}}', r'$\pm$'))
    return '\n'.join([
        rf'\begin{{tabular}}{{l{"r" * len(table.columns)}}}', r'\toprule',
        header, r'\midrule', *rows, r'\bottomrule', r'\end{tabular}'])


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
MEANS = {
    'base': Column('base', title='mIoU of the classes of step 0'),
    'base_no_bg': Column(
        'base w/o bg', title='mIoU of the classes of step 0, no background'),
    'new': Column('new', title='mIoU of the classes of later steps'),
    'all': Column('all', title='mIoU of all classes'),
    'average_miou': Column('average', title='mean of "all" over the steps'),
}
NUMBERS = {
    'average_apa': Column(
        'Avg-APA', title='mean over steps of the mean accuracy'),
    'average_acf': Column(
        'Avg-ACF', better=-1,
        title='first accuracy minus the mean accuracy, mean over steps'),
    'final_accuracy': Column('final', title='mean accuracy in the end'),
    'forgetting': Column(
        'forgetting', better=-1, title='lost since the best score'),
    'bwt': Column('BWT', title='backward transfer'),
    'learning_accuracy': Column(
        'learning', title='accuracy right after learning a step'),
    'ps_active': Column(
        'PS', scale=1., digits=2,
        title='parameter size efficiency as in the paper'),
    'ps_stored': Column(
        'PS stored', scale=1., digits=2, title='PS of all that is kept'),
}
# what a method keeps of the past, of those that keep samples; no contest
MEMORY = {
    'replayed': Column(
        'kept', scale=1., digits=0, better=0,
        title='samples of earlier steps that train again'),
    'replayed_bytes': Column(
        'MB', scale=1e-6, better=0, title='megabytes of these samples'),
}


def final_table(records: Sequence[Record], form: str = 'text') -> str:
    """The scores after the last step, in percent, one row per method.

    For segmentation, columns are the classes in the order of learning, then
    the means over the base classes (with and without background), the later
    ones and all, and the average over steps of the latter. For classification,
    they are the steps, then the paper's numbers. Runs of one method that
    differ in their seed give mean and standard deviation. Every scenario has a
    table of its own. ``form`` is a key of :data:`FORMATS`.
    """
    runs = [Run(record, Path(record.content['run']['name']))
            for record in records if record.steps]
    return '\n\n'.join(
        FORMATS[form](comparison_table(comparison))
        for comparison in compare(runs)) or 'No step is finished yet.'


def comparison_table(comparison: Comparison) -> Table:
    """Return the final table of the runs on one scenario."""
    entry = comparison.example.steps[-1]
    if is_classification(comparison.example):
        corner, numbers, key = 'Step', NUMBERS, 'accuracy_by_step'
        units = [Column(str(t), title=f'accuracy on what step {t} taught')
                 for t in range(len(unit_scores(comparison.example, entry)))]
    else:
        corner, numbers, key = 'Class', MEANS, 'iou'
        units = [Column(name, title=f'IoU of {name}, class {i}')
                 for i, name in zip(entry['class_ids'], entry['classes'],
                                    strict=True)]
    groups = [g for g in comparison.groups if g.furthest]
    if any('replayed' in record.content['summary']
           for group in groups for record in group.furthest):
        numbers = {**numbers, **MEMORY}
    late = [g.last_step < comparison.steps[-1] for g in groups]
    labels = [f'{g.label} (step {g.last_step})' if behind else g.label
              for g, behind in zip(groups, late, strict=True)]
    rows = []
    for group in groups:
        scores = [record.steps[-1].get(key) or []
                  for record in group.furthest]
        rows.append([
            *(spread([s[i] for s in scores if i < len(s)])
              for i in range(len(units))),
            *(spread([r.content['summary'].get(k) for r in group.furthest])
              for k in numbers)
        ])
    return Table(corner, [*units, *numbers.values()], labels, rows, late)


def change_table(group: Group) -> Table:
    """Every class before and after the last step, what fell most first.

    Units of a classification are what the steps have taught. What the step
    has brought comes last.
    """
    key, corner = ('accuracy_by_step', 'Step') if is_classification(
        group.furthest[0]) else ('iou', 'Class')
    known = [[entry[key] for entry in record.steps[-2:]]
             for record in group.furthest]
    names = unit_names(group.furthest[0], corner.lower(), len(known[0][-1]))

    def spreads(unit: int) -> list[Spread]:
        pairs = [[row[unit] if unit < len(row) else None for row in rows]
                 for rows in known]
        return [*map(spread, zip(*pairs, strict=True)), spread(
            [None if None in pair else pair[1] - pair[0] for pair in pairs])]

    rows = sorted(((name, spreads(i)) for i, name in enumerate(names)),
                  key=lambda row: (row[1][2].mean is None, row[1][2].mean))
    return Table(corner, [Column(name, better=0)
                          for name in ('before', 'after', 'change')],
                 [name for name, _ in rows], [row for _, row in rows])


def paper_table(sweep: Mapping) -> Table | None:
    """Return published scores beside those of a sweep's best settings.

    A method has a row of each and, if it was published, one of their
    difference; the best of ours is marked. ``sweep`` is the content of a
    ``sweep.json``.
    """
    published = sweep['paper'].get('scores') or {}
    keys = list(dict.fromkeys(key for row in published.values()
                              for key in row))
    chosen = [s for s in sweep['settings'] if s['best'] and s['seeds']]
    if not keys or not chosen:
        return None
    columns = [{**MEANS, **NUMBERS}.get(key) or Column(key.replace('_', ' '))
               for key in keys]
    table = Table('', columns, [], [], [])
    for setting in chosen:
        scores = [run['scores'] for run in sweep['runs'] if run['finished']
                  and run['group'] == setting['name']]
        ours = [spread([s.get(key) for s in scores]) for key in keys]
        row = published.get(setting['method'])
        label = ' '.join(filter(None, (
            setting['method'],
            len({s['scenario'] for s in chosen}) > 1 and setting['scenario'])))
        rows = {label: ours}
        if row:
            theirs = [_published(row.get(key), column)
                      for key, column in zip(keys, columns, strict=True)]
            gaps = [Spread(None if None in (a.mean, b.mean)
                           else a.mean - b.mean, None)
                    for a, b in zip(ours, theirs, strict=True)]
            rows = {f'{label}, published': theirs, f'{label}, here': ours,
                    f'{label}, difference': gaps}
        for name, values in rows.items():
            table.labels.append(name)
            table.rows.append(values)
            table.partial.append(values is not ours)
    return table


def _published(value: object, column: Column) -> Spread:
    """A number, or mean and deviation, as printed in a paper."""
    pair = value if isinstance(value, (list, tuple)) else (value, None)
    return Spread(*pair).times(1 / column.scale)


class Headline(NamedTuple):
    """What was measured, its value with unit, and the method it is of."""
    title: str
    value: str
    label: str


def headlines(comparison: Comparison) -> list[Headline]:
    """Return the best final score, the best average, the least forgetting.

    Only methods that have finished every step of the others take part. With
    several seeds the value is their mean.
    """
    name = score_name(comparison.example)
    last = comparison.steps[-1] if comparison.steps else -1
    found = []
    for title, unit, question, choose in (
            (f'highest {name} after the last step', '%', final_score, max),
            (f'highest {name} on average over steps', '%', average_score,
             max),
            ('least forgetting', 'points', forgetting, min)):
        values = [(spread([question(r) for r in g.furthest]).mean, g.label)
                  for g in comparison.groups
                  if g.furthest and g.last_step == last]
        known = [v for v in values if v[0] is not None]
        if known:
            value, label = choose(known, key=lambda v: v[0])
            found.append(Headline(title, f'{percent(value)} {unit}', label))
    return found
