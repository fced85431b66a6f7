"""Tables in the layout of the paper, and the three main numbers."""
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mmseg_spwc.record import Record

from .runs import Comparison, Group, Run, compare
from .scores import (
    average_score,
    final_score,
    forgetting,
    is_classification,
    score_name,
    spread,
    unit_scores,
)
from .table_formats import FORMATS, Column, Table

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
        'learning', title='accuracy right after learning a task'),
    'ps_active': Column(
        'PS', scale=1., digits=2,
        title='parameter size efficiency as in the paper'),
    'ps_stored': Column(
        'PS stored', scale=1., digits=2, title='PS of all that is kept'),
}


def percent(value: float | None) -> str:
    """A fraction as the tables print it."""
    return '-' if value is None else f'{100 * value:.1f}'


def final_table(records: Sequence[Record], form: str = 'text') -> str:
    """The scores after the last step, one row per method.

    For segmentation, columns are the class ids in channel order, then the
    mean over the base classes (with and without background), over the later
    ones and over all, and the average over steps of the latter. For
    classification, they are the tasks, then the paper's numbers. Runs of
    one method that differ in their seed give mean and standard deviation.
    Every scenario has a table of its own.

    Args:
        records (Sequence[Record]): The runs.
        form (str): ``'text'``, ``'markdown'`` or ``'latex'``.

    Returns:
        str: The tables; scores in percent.
    """
    runs = [Run(record, Path(record.content['run']['name']))
            for record in records if record.steps]
    return '\n\n'.join(
        FORMATS[form](comparison_table(comparison))
        for comparison in compare(runs)) or 'No step is finished yet.'


def comparison_table(comparison: Comparison) -> Table:
    """Return the final table of the runs on one scenario."""
    if is_classification(comparison.example):
        return _task_table(comparison)
    return _class_table(comparison)


def _class_table(comparison: Comparison) -> Table:
    last = comparison.example.steps[-1]
    ids = [str(i) for i in last['class_ids']]
    columns = [Column(i, title=name)
               for i, name in zip(ids, last['classes'], strict=True)]
    note = '  '.join(f'{i}: {n}'
                     for i, n in zip(ids, last['classes'], strict=True))
    return _table('Class ID', comparison, columns, MEANS,
                  lambda record: record.steps[-1]['iou'], note)


def _task_table(comparison: Comparison) -> Table:
    example = comparison.example
    tasks = range(len(unit_scores(example, example.steps[-1])))
    columns = [Column(str(t + 1), title=f'accuracy on task {t + 1}')
               for t in tasks]
    return _table('Task', comparison, columns, NUMBERS,
                  lambda record: unit_scores(record, record.steps[-1]))


def _table(corner: str, comparison: Comparison, units: list, numbers: dict,
           scores, note: str = '') -> Table:
    """Rows of a score for every unit, then those of the summary."""
    groups = [g for g in comparison.groups if g.furthest]
    last = comparison.steps[-1]
    rows = []
    for group in groups:
        lists = [_pad(scores(r), len(units)) for r in group.furthest]
        rows.append([
            *map(spread, zip(*lists, strict=True)),
            *(spread([r.content['summary'].get(k) for r in group.furthest])
              for k in numbers)
        ])
    return Table(corner, [*units, *numbers.values()],
                 [_row_label(g, last) for g in groups], rows, note,
                 [g.last_step < last for g in groups])


def _row_label(group: Group, last: int) -> str:
    if group.last_step < last:
        return f'{group.label} (step {group.last_step})'
    return group.label


def _pad(values: list, length: int) -> list:
    return values + [None] * (length - len(values))


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
    groups = [g for g in comparison.groups
              if g.furthest and g.last_step == last]
    questions = (
        (f'highest {name} after the last step', '%', final_score, max),
        (f'highest {name} on average over steps', '%', average_score, max),
        ('least forgetting', 'points', forgetting, min))
    found = []
    for title, unit, question, choose in questions:
        values = [(spread([question(r) for r in g.furthest]).mean, g.label)
                  for g in groups]
        known = [v for v in values if v[0] is not None]
        if known:
            value, label = choose(known, key=lambda v: v[0])
            found.append(Headline(title, f'{percent(value)} {unit}', label))
    return found
