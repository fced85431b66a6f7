"""Tables in the layout of the paper, as plain text."""
from collections.abc import Sequence

from mmseg_spwc.record import Record


def percent(value: float | None) -> str:
    """A fraction as the tables print it."""
    return '-' if value is None else f'{100 * value:.1f}'


def step_line(record: Record, step: int) -> str:
    """One line on a finished step."""
    entry = record.step(step)
    means = entry['miou']
    return (f'Step {step} done: mIoU base {percent(means["base"])}, '
            f'new {percent(means["new"])}, all {percent(means["all"])}, '
            f'pixel accuracy {percent(entry["pixel_accuracy"])}, '
            f'{entry["cost"]["wall_time"]:.0f} s')


def final_table(records: Sequence[Record]) -> str:
    """The IoU of every class after the last step, one row a run.

    Columns are the class ids in channel order, then the mean over the base
    classes (with and without background), over the later ones and over all,
    and the average over steps of the latter.

    Args:
        records (Sequence[Record]): Runs of one scenario.

    Returns:
        str: The table, in percent.
    """
    records = [record for record in records if record.steps]
    if not records:
        return 'No step is finished yet.'
    widest = max((r.steps[-1] for r in records), key=lambda s: len(s['iou']))
    ids = [str(i) for i in widest['class_ids']]
    header = ['Class ID', *ids, 'base', 'base w/o bg', 'new', 'all', 'average']
    rows = [[
        r.content['method'], *map(percent, _pad(r.steps[-1]['iou'], len(ids))),
        *(percent(r.content['summary'][k])
          for k in ('base', 'base_no_bg', 'new', 'all', 'average_miou'))
    ] for r in records]
    names = '  '.join(f'{i}: {n}' for i, n in zip(
        ids, widest['classes'], strict=True))
    return _layout(header, rows) + '\n' + names


def _pad(values: list, length: int) -> list:
    return values + [None] * (length - len(values))


def _layout(header: list, rows: list) -> str:
    widths = [max(len(row[i]) for row in [header, *rows])
              for i in range(len(header))]
    lines = [
        '  '.join(cell.ljust(w) if i == 0 else cell.rjust(w)
                  for i, (cell, w) in enumerate(zip(row, widths, strict=True)))
        for row in [header, *rows]
    ]
    lines.insert(1, '-' * len(lines[0]))
    return '\n'.join(lines)
