"""Loss curves on one axis over the whole sequence."""
from typing import NamedTuple

from mmseg_spwc.record import Record


class Curve(NamedTuple):
    """A term along the sequence; gaps are None."""
    iterations: list
    values: list
    steps: list


def boundaries(record: Record) -> list[int]:
    """The last iteration of every step, counted over the sequence."""
    ends, total = [], 0
    for entry in record.steps:
        total += ([0] + _iterations(entry))[-1]
        ends.append(total)
    return ends


def sequence_curves(record: Record) -> dict[str, Curve]:
    """Join the curves of the steps, by term.

    Iterations count on from step to step; between steps there is a gap, so
    that no line joins the end of one with the beginning of the next.
    """
    joined: dict[str, Curve] = {}
    starts = [0, *boundaries(record)]
    for start, entry in zip(starts, record.steps, strict=False):
        for term, values in (entry.get('curves') or {}).get(
                'losses', {}).items():
            # a term that is logged less often has no value in between
            known = [(start + i, value) for i, value in zip(
                _iterations(entry), values, strict=True) if value is not None]
            curve = joined.setdefault(term, Curve([], [], []))
            if curve.values:
                known.insert(0, (start, None))
            curve.iterations.extend(i for i, _ in known)
            curve.values.extend(value for _, value in known)
            curve.steps.extend([entry['step']] * len(known))
    return joined


def _iterations(entry: dict) -> list[int]:
    return (entry.get('curves') or {}).get('iterations', [])
