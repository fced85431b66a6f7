"""What spWC will decide for the next step, told from the record."""
from mmseg_spwc.record import Record
from mmseg_spwc.selfpaced import SelfPacedWeights

from .config_text import setting

# options of the hook, not of the weights
OTHERS = ('name', 'unit', 'update', 'background')


def next_weights(record: Record, step: int) -> list[tuple[str, float]] | None:
    """Return the priority weights that follow from a step's scores.

    Args:
        record (Record): The run.
        step (int): A finished step.

    Returns:
        list | None: Name and weight of every unit learnt so far; None where
        the run has no spWC, no next step, or no scores to go by.
    """
    scenario = record.content['scenario']
    if step + 1 >= len(scenario.get('steps') or []):
        return None
    try:
        options = setting(record.content['run']['config'], 'self_paced')
    except ValueError:  # a config of another form tells nothing
        return None
    entries = [s for s in record.steps if s['step'] <= step]
    if options is None or not all(s.get('kpi') for s in entries):
        return None
    entry = entries[-1]
    unit = options.get('unit') or (
        'step' if entry.get('consolidation') else 'class')
    history = [s['kpi'][unit] for s in entries]
    if history[-1] is None:
        return None
    before = len(history[-2]) if len(history) > 1 else 0
    psi = list(history[-1])
    if options.get('background') == 'keep':
        psi[0] = None
    pace = SelfPacedWeights(
        **{k: v for k, v in options.items() if k not in OTHERS})
    decision = pace(psi, step=step + 1, best=_best(history),
                    newest=len(psi) - before)
    names = entry['classes'] if unit == 'class' else [
        f'step {t}' for t in range(len(psi))]
    return list(zip(names, decision.v.tolist(), strict=True))


def _best(history: list[list]) -> list:
    return [
        max((row[i] for row in history
             if i < len(row) and row[i] is not None), default=None)
        for i in range(len(history[-1]))
    ]
