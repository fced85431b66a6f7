"""Finds mistakes in parts and data before training.

A misspelt loss or an empty step would otherwise end a run after hours, when
the step that uses it begins.
"""
import copy
import dataclasses
import difflib
from collections.abc import Callable, Mapping
from pathlib import Path

from mmengine.config import Config
from mmengine.dist import get_world_size
from mmengine.optim import build_optim_wrapper
from mmengine.registry import (
    HOOKS,
    LOOPS,
    OPTIM_WRAPPERS,
    OPTIMIZERS,
    PARAM_SCHEDULERS,
    Registry,
)
from mmengine.visualization import Visualizer
from torch import nn
from torch.utils.data import DataLoader

from mmseg_spwc.errors import ConfigError, input_errors
from mmseg_spwc.memory import Replay, epoch_size
from mmseg_spwc.models.quantities import of_teacher
from mmseg_spwc.problems import problem_of
from mmseg_spwc.registry import MODELS, check_parts_in
from mmseg_spwc.runtime.checkpoint import tensors_only
from mmseg_spwc.scenario import Scenario
from mmseg_spwc.selfpaced import SelfPacedChoice

from .keys import check_option_names
from .length import settle_length
from .stages import stage_of
from .start import start_path
from .step import step_config
from .types import SELF_PACED

# what gives parts of a real network options of their own
BY_PARAMETER = ('constructor', 'paramwise_cfg')
LOADERS = ('train_dataloader', 'test_dataloader', 'val_dataloader')
# what MMEngine takes out of their configs before it builds them
TAKEN_OUT = ('num_batch_per_epoch', 'disable_subprocess_warning')
# of the self-paced hook, but not options of the choice
PLACE = ('type', 'update')


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is known of a sequence before it is trained, by step."""
    configs: dict[int, Config]
    images: dict[int, dict]  # their number by role
    iterations: dict[int, int]
    facts: dict  # for the record's scenario
    choices: dict  # of spWC

    def later_iterations(self, step: int) -> int:
        """Iterations of the steps after a step."""
        return sum(n for s, n in self.iterations.items() if s > step)


def plan_steps(cfg: Config, scenario: Scenario, steps: list) -> Plan:
    """Try all parts, read all labels and count what every step will see.

    Misspelt parts, missing files, label values outside the dataset, empty
    steps and batches larger than a step's images are errors here, before any
    training.
    """
    if stage_of(cfg.method, steps[0]) == 'later':
        raise ConfigError(
            "method.run='last' trains the last step alone, so there is no "
            'step before to start from: set method.restart=True too, or '
            'leave run out.')
    with input_errors('config'):
        configs = {
            step: step_config(cfg, scenario, step, get_world_size())
            for step in steps
        }
    tried = copy.deepcopy(configs)  # parts may change their configs
    check_parts(tried)
    with input_errors('data'):
        counts, facts = problem_of(scenario).count(tried, scenario)
        lengths = {
            step: _set_iterations(out, counts[step], scenario, step)
            for step, out in configs.items()
        }
    choices = {step: choice_of(out) for step, out in configs.items()}
    return Plan(configs, counts, lengths, facts, choices)


def choice_of(cfg: Config) -> dict | None:
    """How spWC decides at a step, as the record tells it; None without spWC.
    """
    for hook in cfg.custom_hooks:
        if hook['type'] == SELF_PACED:
            options = {k: v for k, v in hook.items() if k not in PLACE}
            return SelfPacedChoice.from_dict(options).to_dict()
    return None


def check_start_files(cfg: Config) -> None:
    """Look for the weights that step 0 starts from, before anything else."""
    for key in ('backbone_weights', 'start_from', 'load_from'):
        path = cfg.get(key)
        if isinstance(path, Mapping):  # start_from with classes
            path = path['checkpoint']
        elif path and key == 'start_from' and Path(path).is_dir():
            path = start_path(path)
        if path and '://' not in str(path) and not Path(path).is_file():
            raise ConfigError(
                f'{key} is {path}, but there is no such file: give the path '
                'from the folder you start in, or leave it out.')


def _set_iterations(cfg: Config, counts: Mapping[str, int],
                    scenario: Scenario, step: int) -> int:
    """Settle how long a step is, and return it in iterations."""
    if not scenario.sources('train', step):  # its data are gone
        return 0
    batch = cfg.train_dataloader.batch_size * get_world_size()
    images = counts['train']
    if counts.get('replay'):
        replay = Replay.of(cfg.train_dataloader.dataset.replay)
        images = epoch_size(images, counts['replay'], batch, replay.share)
    if images < batch:
        raise ConfigError(
            f'Step {step} (classes {", ".join(scenario.called(step))}) has '
            f'{images} training images, fewer than the total batch of '
            f'{batch}: use a smaller total_batch_size, a smaller '
            'heldout.ratio or other steps.')
    if 'max_iters' in cfg.train_cfg:
        return cfg.train_cfg.max_iters
    drop = cfg.train_dataloader.get('drop_last', False)
    per_epoch = images // batch if drop else -(-images // batch)
    settle_length(cfg, per_epoch)
    return cfg.train_cfg.max_epochs * per_epoch


def check_parts(configs: Mapping[int, Config]) -> None:
    """Build hooks, losses and optimiser of every step, and forget them.

    Of the last step the whole network is built, since what is wrong with
    that of the first shows at once, and given a start.
    """
    for step in configs:
        _check_step(configs, step, _try_parts)
    _check_step(configs, step, _try_network)


def _check_step(configs: Mapping[int, Config], step: int,
                check: Callable) -> None:
    """Check the config of a step, and say which others have its fault."""

    def fault(number: int) -> str | None:
        try:
            with input_errors(''):
                check(copy.deepcopy(configs[number]), number)
        except ConfigError as error:
            return str(error)
        return None

    try:
        with input_errors(''):
            return check(configs[step], step)
    except ConfigError as error:
        said = str(error)
        first, *later = configs
        alike = [fault(number) == said
                 for number in dict.fromkeys((first, *later[:1], *later[-1:]))]
        where = f'config of step {step}'
        if all(alike):
            where = f'config of every step, from step {first}'
        elif len(later) > 1 and all(alike[1:]):
            where = f'config of step {later[0]} and all later ones'
        # what has no beginning says itself where it is
        raise ConfigError(f'{where}{said}' if said.startswith(': ') else
                          said) from error


def _try_parts(cfg: Config, step: int) -> None:
    check_parts_in(cfg.values())
    Visualizer.get_instance('preflight')  # some hooks need one to be there
    for hook in _hooks(cfg):
        HOOKS.build(hook)
    _check_losses(cfg.model, step)
    _check_optimiser(cfg)
    _check_loop(cfg, 'train_cfg', 'EpochBasedTrainLoop')
    _check_loop(cfg, 'test_cfg', 'TestLoop')
    for name in LOADERS:
        check_option_names(cfg.get(name) or {}, DataLoader, name, TAKEN_OUT)


def _try_network(cfg: Config, step: int) -> None:
    model = _network(cfg.model)
    model.try_losses()
    for hook in map(HOOKS.build, _hooks(cfg)):
        if hasattr(hook, 'try_on'):
            hook.try_on(model)


def _network(model: Config) -> nn.Module:
    try:
        with tensors_only():
            return MODELS.build(model)
    except RuntimeError as error:  # of torch, for a size that cannot be
        reason = str(error).partition('\n')[0]
        raise ConfigError(f'The network cannot be built ({reason}): correct '
                          'the sizes in model.') from error


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
        if config.get('type') is None:
            raise ValueError(_without_type(name, model.losses))
        asked = student.arguments_of(MODELS.build(config))
        if step == 0 and of_teacher(student.quantities) & {*asked}:
            raise ConfigError(
                f'The loss {name!r} compares with the previous model, but '
                'step 0 has none: move it to method.later.')


def _without_type(name: str, losses: Mapping) -> str:
    """An option of a loss that is not there makes a loss without a type."""
    known = [other for other in losses if other != name and losses[other]
             and losses[other].get('type')]
    near = difflib.get_close_matches(name, known, 1, 0.5)
    hint = f'did you mean {near[0]!r}? ' if near else ''
    return (f'The loss {name!r} has no type: {hint}The losses here are '
            f'{", ".join(known)}; a further one needs a type.')


def _check_optimiser(cfg: Config) -> None:
    """Build wrapper and optimiser for a network of one weight."""
    wrapper = {k: v for k, v in cfg.optim_wrapper.to_dict().items()
               if k not in BY_PARAMETER}
    if 'optimizer' not in wrapper:  # several, which a constructor joins
        return
    _check_known(OPTIM_WRAPPERS, wrapper.get('type', 'OptimWrapper'),
                 'optimiser wrapper', 'OptimWrapper')
    _check_known(OPTIMIZERS, wrapper['optimizer'].get('type'), 'optimiser',
                 'SGD')
    build_optim_wrapper(nn.Linear(1, 1, bias=False), wrapper)
    for scheduler in cfg.param_scheduler:
        _check_known(PARAM_SCHEDULERS, scheduler['type'], 'scheduler',
                     'PolyLR')


def _check_loop(cfg: Config, key: str, example: str) -> None:
    given = cfg[key]
    if 'type' in given:
        what = 'training loop' if key == 'train_cfg' else 'loop'
        loop = _check_known(LOOPS, given.type, what, example)
        check_option_names(given, loop, key, ('type', 'min_iters'))


def _check_known(registry: Registry, kind: object, what: str,
                 example: str) -> Callable:
    """Return what a type names; refuse one that names nothing."""
    known = registry.get(kind) if isinstance(kind, str) else kind
    if not callable(known):
        raise ConfigError(f'There is no {what} {kind!r}: use the name of '
                          f'one, such as {example}.')
    return known
