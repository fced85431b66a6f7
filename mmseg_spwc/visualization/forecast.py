"""What spWC will decide for the next step, told from the record."""
from mmseg_spwc.record import Record
from mmseg_spwc.selfpaced import SelfPacedChoice

from .scores import unit_name


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
    weights = choice([kpi[choice.unit] for kpi in scores]).v.tolist()
    names = entry['classes'] if choice.unit == 'class' else [
        unit_name(record, t) for t in range(len(weights))]
    return list(zip(names, weights, strict=True))
