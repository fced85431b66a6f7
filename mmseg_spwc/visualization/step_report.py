"""What the terminal says after a step."""
from mmseg_spwc.record import Record
from mmseg_spwc.selfpaced import SelfPacedChoice

from .scores import is_classification, unit_name
from .tables import percent

TOLERANCE = 0.05  # below its best by more than this, a unit is forgotten
SHOWN = 5  # units a line names at most


def step_report(record: Record, step: int) -> str:
    """How a step went: what was kept, forgotten, and is protected next.

    A unit, a class or a task, counts as forgotten when its test score is
    more than five points below its best so far.

    Args:
        record (Record): The run.
        step (int): A finished step.

    Returns:
        str: One to four lines.
    """
    lines = [step_line(record, step)]
    old = _old_units(record, step)
    if old:
        gone = [(name, best, now) for name, best, now in old
                if best - now > TOLERANCE]
        gone.sort(key=lambda unit: unit[2] - unit[1])
        lines.append(f'  kept: {len(old) - len(gone)} of {len(old)} old '
                     f'{"tasks" if is_classification(record) else "classes"}')
        if gone:
            lines.append('  forgotten: ' + _some(
                [f'{name} {percent(best)} -> {percent(now)}'
                 for name, best, now in gone]))
    weights = next_weights(record, step)
    if weights:
        chosen = sorted(((name, v) for name, v in weights if v > 0),
                        key=lambda pair: -pair[1])
        lines.append('  spWC protects next: ' + (_some(
            [f'{name} {v:.2f}' for name, v in chosen]) or 'nothing'))
    return '\n'.join(lines)


def step_line(record: Record, step: int) -> str:
    """One line on a finished step."""
    entry = record.step(step)
    if is_classification(record):
        scores = (f'accuracy on the new task '
                  f'{percent(entry["accuracy_by_step"][-1])}, '
                  f'mean {percent(entry["accuracy"]["mean"])}')
    else:
        means = entry['miou']
        scores = (f'mIoU base {percent(means["base"])}, '
                  f'new {percent(means["new"])}, '
                  f'all {percent(means["all"])}, '
                  f'pixel accuracy {percent(entry["pixel_accuracy"])}')
    return f'Step {step} done: {scores}, {entry["cost"]["wall_time"]:.0f} s'


def _old_units(record: Record, step: int) -> list[tuple]:
    """Name, best and present score of what earlier steps have brought."""
    name = 'accuracy_by_step' if is_classification(record) else 'iou'
    rows = [s[name] for s in record.steps if s['step'] <= step]
    if len(rows) < 2:
        return []
    names = [unit_name(record, t) for t in range(len(rows[-1]))] \
        if is_classification(record) else record.step(step)['classes']
    return [
        (names[i], max(row[i] for row in rows
                       if i < len(row) and row[i] is not None), rows[-1][i])
        for i in range(len(rows[-2])) if rows[-1][i] is not None
    ]


def next_weights(record: Record, step: int) -> list[tuple[str, float]] | None:
    """Return the priority weights that follow from a step's scores.

    Args:
        record (Record): The run.
        step (int): A finished step.

    Returns:
        list | None: Name and weight of every unit learnt so far; None where
        the run has no spWC, no next step, or no scores to go by, and for
        records of version 1, which do not tell.
    """
    entry = record.step(step)
    if not entry.get('self_paced'):
        return None
    scores = [record.step(s).get('kpi') for s in range(step + 1)]
    if not all(scores):
        return None
    choice = SelfPacedChoice.from_dict(entry['self_paced'])
    weights = choice.decide([kpi[choice.unit] for kpi in scores]).v.tolist()
    names = entry['classes'] if choice.unit == 'class' else [
        unit_name(record, t) for t in range(len(weights))]
    return list(zip(names, weights, strict=True))


def _some(parts: list[str]) -> str:
    more = len(parts) - SHOWN
    return ', '.join(parts[:SHOWN]) + (f' and {more} more' if more > 0 else '')
