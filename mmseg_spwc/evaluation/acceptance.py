"""Whether what a step has made may be shipped."""
from collections.abc import Mapping, Sequence


def judge(steps: Sequence[Mapping], old_drop: float | None = None,
          new_min: float | None = None) -> dict:
    """Judge the last of the steps of a record.

    An old class (or what a step taught a classifier) is compared with its best
    score since the last step that was accepted: what a rejected step has lost
    is not forgiven by the next one. It may fall ``old_drop`` points, and a new
    one must have ``new_min``. ``fell`` names the old classes that fell too
    far.
    """
    *before, last = steps
    names, now = _scored(last)
    known = len(_scored(before[-1])[1]) if before else 0
    fell, wrong, unseen = [], [], []
    for i in range(known) if old_drop is not None else ():
        best = max((row[i] for row in _since_accepted(before)
                    if i < len(row) and row[i] is not None), default=None)
        if best is None or now[i] is None:
            continue
        if round(100 * (best - now[i]), 6) > old_drop:
            fell.append(names[i])
            wrong.append(f'{names[i]} fell {100 * best:.1f} -> '
                         f'{100 * now[i]:.1f}')
    for i in range(known, len(now)) if new_min is not None else ():
        if now[i] is None:
            unseen.append(names[i])
        elif round(100 * now[i], 6) < new_min:
            wrong.append(f'{names[i]} has {100 * now[i]:.1f}')
    if unseen:
        more = f' and {len(unseen) - 3} more' * (len(unseen) > 3)
        wrong.append(f'no test image shows {", ".join(unseen[:3])}{more}')
    limits = ' and '.join(
        text for text, limit in (
            (f'an old one may fall {old_drop} points', old_drop),
            (f'a new one needs {new_min}', new_min)) if limit is not None)
    return dict(
        passed=not wrong, fell=fell,
        reason=f'{", ".join(wrong) or "all classes are good enough"}; '
        f'{limits}')


def _scored(entry: Mapping) -> tuple[list, list]:
    """Names and test scores of what is judged by itself."""
    if 'iou' in entry:
        return entry['classes'], entry['iou']
    row = entry['accuracy_by_step']
    return [f'step {t}' for t in range(len(row))], row


def _since_accepted(before: Sequence[Mapping]) -> list:
    passed = [i for i, entry in enumerate(before)
              if (entry.get('accepted') or dict(passed=True))['passed']]
    return [_scored(entry)[1] for entry in before[max(passed, default=0):]]
