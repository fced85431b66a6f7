"""What a sequence does about steps whose data are gone."""
from collections.abc import Collection, Mapping, Sequence

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.scenario import Scenario


def check_data_left(scenario: Scenario, steps: Collection[int]) -> None:
    """Refuse to train steps that have no images."""
    for step in steps:
        if not scenario.sources('train', step):
            raise ConfigError(
                f'Step {step} ({", ".join(scenario.called(step))}) has no '
                'training images (its data have no train, or are None), and '
                'nothing stands for it: give its data, or start_from, a '
                'model that knows its classes.')


def keep_last_scores(kpi: Mapping | None, scenario: Scenario, step: int,
                     earlier: Sequence[Mapping]) -> dict | None:
    """Let units whose held-out images are gone keep the last scores known.

    ``earlier`` are the entries of the record before the step. Where data are
    gone, ``since`` says by unit after which step each score was measured, None
    for one that never was.
    """
    gone = {s for s in range(step + 1) if not scenario.has_data(s, 'heldout')}
    if not gone:
        return kpi
    owners = {'class': scenario.step_of_channel(step), 'step': range(step + 1)}
    if scenario.problem == 'classification':
        owners['class'] = None
    filled = dict(kpi or {'split': 'heldout'}, since={})
    for unit, owner in owners.items():
        if owner is None:
            filled[unit] = filled['since'][unit] = None
            continue
        scores = list(filled.get(unit) or [None] * len(owner))
        since = [None if score is None else step for score in scores]
        for i, s in enumerate(owner):
            if scores[i] is None and s in gone:
                scores[i], since[i] = _last_known(unit, i, earlier)
        filled[unit], filled['since'][unit] = scores, since
    return filled


def _last_known(unit: str, place: int,
                earlier: Sequence[Mapping]) -> tuple:
    """The last score of a unit in the record, and after which step."""
    for entry in reversed(earlier):
        kpi = entry.get('kpi') or {}
        scores = kpi.get(unit) or []
        if place < len(scores) and scores[place] is not None:
            since = (kpi.get('since') or {}).get(unit)
            return scores[place], since[place] if since else entry['step']
    return None, None
