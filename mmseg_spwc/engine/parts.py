"""The parts that a config names, built once before training begins.

A misspelt loss or option of a later step would otherwise end a run after
hours, when the step that uses it begins.
"""
from collections.abc import Mapping

from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmengine.registry import HOOKS, OPTIMIZERS, PARAM_SCHEDULERS
from torch import nn

from mmseg_spwc.errors import ConfigError, input_errors
from mmseg_spwc.registry import MODELS

from .config_keys import check_length

# what gives parts of a real network options of their own
BY_PARAMETER = ('constructor', 'paramwise_cfg')


def check_parts(configs: Mapping[int, Config]) -> None:
    """Build hooks, losses and optimiser of every step, and forget them.

    Of the last step the whole network is built, since what is wrong with
    that of the first shows at once.

    Args:
        configs (Mapping[int, Config]): The config of every step that runs.

    Raises:
        ConfigError: If a name is unknown or an option wrong.
    """
    for step, cfg in configs.items():
        with input_errors(f'config of step {step}'):
            check_length(cfg.train_cfg)
            for hook in _hooks(cfg):
                HOOKS.build(hook)
            _check_losses(cfg.model, step)
            _check_optimiser(cfg)
    with input_errors(f'config of step {step}'):
        MODELS.build(cfg.model)


def _hooks(cfg: Config) -> list:
    named = (cfg.get('default_hooks') or {}).values()
    return [{k: v for k, v in hook.items() if k != 'priority'}
            for hook in (*named, *cfg.custom_hooks)
            if isinstance(hook, Mapping)]


def _check_losses(model: Config, step: int) -> None:
    student = MODELS.get(model.type)
    for name, config in model.losses.items():
        if config is None:
            continue
        asked = student.arguments_of(MODELS.build(config))
        if step == 0 and any(a.startswith('old_') for a in asked):
            raise ConfigError(
                f'The loss {name!r} compares with the previous model, but '
                'step 0 has none: move it to method.later.')


def _check_optimiser(cfg: Config) -> None:
    """Build wrapper and optimiser for a network of one weight."""
    wrapper = {k: v for k, v in cfg.optim_wrapper.to_dict().items()
               if k not in BY_PARAMETER}
    if 'optimizer' not in wrapper:  # several, which a constructor joins
        return
    kind = wrapper['optimizer'].get('type')
    if isinstance(kind, str) and OPTIMIZERS.get(kind) is None:
        raise ConfigError(f'There is no optimiser {kind!r}: use the name of '
                          'a class of torch.optim, such as SGD.')
    build_optim_wrapper(nn.Linear(1, 1, bias=False), wrapper)
    for scheduler in cfg.param_scheduler:
        kind = scheduler['type']
        if isinstance(kind, str) and PARAM_SCHEDULERS.get(kind) is None:
            raise ConfigError(
                f'There is no scheduler {kind!r}: use one of MMEngine, such '
                'as PolyLR.')
