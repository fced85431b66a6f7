"""Kinds of importance, as the consolidation hook uses them."""
from .along_the_path import RunningImportance, SynapticImportance
from .kinds import FisherImportance, Importance, MASImportance
from .step_data import StepData

KINDS = dict(
    fisher=FisherImportance,
    mas=MASImportance,
    si=SynapticImportance,
    ema=RunningImportance)


def build_importance(config: dict) -> Importance:
    """Build the kind that a config names.

    Args:
        config (dict): With ``type``, a key of ``KINDS``, and its arguments.
    """
    options = dict(config)
    kind = options.pop('type', None)
    if kind not in KINDS:
        raise ValueError(f'importance.type is one of {", ".join(KINDS)}, not '
                         f'{kind!r}.')
    return KINDS[kind](**options)


__all__ = ['KINDS', 'Importance', 'StepData', 'build_importance']
