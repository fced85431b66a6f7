"""What the terminal says after a step."""
from mmseg_spwc.record import Record
from mmseg_spwc.selfpaced import SelfPacedChoice

from .scores import is_classification, percent, unit_names

TOLERANCE = 0.05  # below its best by more than this, a unit is forgotten
SHOWN = 5  # units a line names at most


def step_report(record: Record, step: int) -> str:
    """How a step went: what was kept, forgotten, and is protected next.

    A unit, a class or what a step of classification taught, counts as
    forgotten when its test score is more than five points below its best so
    far, and as never learnt when it has not had more than five points.
    """
    lines = [step_line(record, step)]
    accepted = record.step(step).get('accepted')
    if accepted:
        lines.append('  ' + accepted_line(accepted))
    old = _old_units(record, step)
    gone = sorted(((name, best, now) for name, best, now in old
                   if best - now > TOLERANCE), key=lambda u: u[2] - u[1])
    never = [name for name, best, _ in old if best <= TOLERANCE]
    if old:
        lines.append(
            f'  kept: {len(old) - len(gone) - len(never)} of {len(old)} old '
            + ('steps' if is_classification(record) else 'classes'))
    if gone:
        lines.append('  forgotten: ' + _some(
            [f'{name} {percent(best)} -> {percent(now)}'
             for name, best, now in gone]))
    if never:
        lines.append(f'  never learnt: {_some(never)}')
    weights = next_weights(record, step)
    if weights:
        chosen = sorted(((name, v) for name, v in weights if v > 0),
                        key=lambda pair: -pair[1])
        lines.append('  spWC protects next: ' + (_some(
            [f'{name} {v:.2f}' for name, v in chosen]) or 'nothing'))
    lines += _gone_scores(record, step)
    return '\n'.join(lines)


def _gone_scores(record: Record, step: int) -> list[str]:
    """Which old scores spWC uses for units whose data are gone."""
    entry = record.step(step)
    unit = (entry.get('self_paced') or {}).get('unit')
    since = ((entry.get('kpi') or {}).get('since') or {}).get(unit) or []
    old: dict = {}
    for name, after in zip(unit_names(record, unit, len(since)), since,
                           strict=True):
        if after != step:
            old.setdefault(after, []).append(name)
    return [
        f'  data gone: {_some(names)} '
        + ('never scored, weight 1' if after is None else
           f'by the scores after step {after}')
        for after, names in sorted(old.items(), key=lambda i: i[0] or -1)]


def accepted_line(accepted: dict) -> str:
    """Whether a step may be shipped, and why not."""
    verdict = 'accepted' if accepted['passed'] else 'not accepted'
    return f'{verdict}: {accepted["reason"]}'


def step_line(record: Record, step: int) -> str:
    """One line on a finished step."""
    entry = record.step(step)
    if is_classification(record):
        found = (f'accuracy on the new task '
                 f'{percent(entry["accuracy_by_step"][-1])}, '
                 f'mean {percent(entry["accuracy"]["mean"])}')
    else:
        means = entry['miou']
        found = (f'mIoU base {percent(means["base"])}, '
                 f'new {percent(means["new"])}, '
                 f'all {percent(means["all"])}, '
                 f'pixel accuracy {percent(entry["pixel_accuracy"])}')
    return f'Step {step} done: {found}, {entry["cost"]["wall_time"]:.0f} s'


def _old_units(record: Record, step: int) -> list[tuple]:
    """Name, best and present score of what earlier steps have brought."""
    unit, key = ('step', 'accuracy_by_step') if is_classification(record) \
        else ('class', 'iou')
    rows = [s[key] for s in record.steps if s['step'] <= step]
    if len(rows) < 2:
        return []
    names = unit_names(record, unit, len(rows[-2]))
    return [
        (name, max(row[i] for row in rows
                   if i < len(row) and row[i] is not None), rows[-1][i])
        for i, name in enumerate(names) if rows[-1][i] is not None
    ]


def next_weights(record: Record, step: int) -> list[tuple[str, float]] | None:
    """Return the priority weights that follow from a step's scores.

    They are name and weight of every unit learnt so far; None where the run
    has no spWC, no next step, or no scores to go by.
    """
    entry = record.step(step)
    if not entry.get('self_paced'):
        return None
    kpis = [record.step(s).get('kpi') for s in range(step + 1)]
    if not all(kpis):
        return None
    choice = SelfPacedChoice.from_dict(entry['self_paced'])
    weights = choice.decide([kpi[choice.unit] for kpi in kpis]).v.tolist()
    return list(zip(unit_names(record, choice.unit, len(weights)), weights,
                    strict=True))


def _some(parts: list[str]) -> str:
    more = len(parts) - SHOWN
    return ', '.join(parts[:SHOWN]) + (f' and {more} more' if more > 0 else '')
