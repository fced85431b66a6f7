"""Who takes spWC's weights at a step, and what that takes."""
from collections.abc import Mapping

from mmengine.config import Config

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.registry import HOOKS, MODELS
from mmseg_spwc.scenario import Scenario
from mmseg_spwc.selfpaced import priority_takers, taken_unit

from .types import SELF_PACED


def self_paced_hook(cfg: Config) -> dict:
    """The hook with the options of ``self_paced``."""
    options = cfg.self_paced.to_dict()
    for key in ('name', 'on'):
        options.pop(key, None)
    return dict(type=SELF_PACED, **options)


def set_priorities(out: Config, scenario: Scenario, on: str | None) -> None:
    """Find who takes spWC's weights, of which unit, and for which losses."""
    if on == 'replay':
        _draw_by_priority(out, scenario)
        on = None
    model = MODELS.get(out.model.type)
    takers = priority_takers(_kinds(out), model)
    if not takers:
        raise ConfigError(
            'self_paced weights the penalties of earlier tasks, but the '
            'method has none: choose one that consolidates, such as EWC, '
            'or take self_paced out.')
    hook = out.hooks.self_paced
    hook.unit = hook.get('unit') or taken_unit(takers[0])
    _check_unit(hook, scenario)
    if on is not None and takers != [model]:
        raise ConfigError(
            f'self_paced.on={on!r} chooses among the losses of pixels, but '
            'here the weights multiply the penalties of earlier steps: '
            'leave it out.')
    if on is not None:
        out.model.priority_on = on


def _check_unit(hook: Mapping, scenario: Scenario) -> None:
    if hook.unit == 'class' and scenario.problem == 'classification':
        raise ConfigError('Tasks are scored as a whole: set '
                          "self_paced.unit='step' or leave it out.")
    if hook.get('background') == 'keep' and (
            hook.unit == 'step' or not scenario.has_background):
        raise ConfigError(
            "self_paced.background='keep' needs unit='class' and a "
            f'scenario with a background; here the unit is {hook.unit!r} '
            f'and the scenario {scenario.dataset} has '
            f"{'one' if scenario.has_background else 'none'}.")


def _kinds(out: Config) -> list:
    """The classes of a step's own hooks."""
    kinds = (hook.get('type') for hook in out.hooks.values() if hook)
    return [HOOKS.get(kind) if isinstance(kind, str) else kind
            for kind in kinds]


def set_teacher(out: Config) -> None:
    """Ask for a teacher that no loss asks for."""
    model = MODELS.get(out.model.type)
    weighed = out.hooks.get('self_paced') and \
        priority_takers(_kinds(out), model) == [model]
    transition = out.hooks.get('transition') or {}
    if transition.get('previous') and (weighed or any(
            getattr(kind, 'needs_teacher', False) for kind in _kinds(out))):
        transition.teacher = True


def _draw_by_priority(out: Config, scenario: Scenario) -> None:
    """Let spWC decide what is replayed, and nothing else."""
    if out.train_dataloader.dataset.get('replay') is None:
        raise ConfigError(
            "self_paced.on='replay' needs a method with a memory: set "
            'train_dataloader.dataset.replay in method.later, or leave it '
            'out.')
    hook = out.hooks.self_paced
    if 'iters' in (hook.get('update') or ()):
        raise ConfigError(
            "With self_paced.on='replay' an order is drawn for an epoch: use "
            'update=dict(epochs=N).')
    by_class = scenario.problem == 'segmentation' and scenario.kind == 'class'
    unit = 'class' if by_class else 'step'
    hook.unit = hook.get('unit') or unit
    out.hooks.replay = dict(type='mmseg_spwc.ReplayPriorityHook', unit=unit)
