"""From the config of a sequence to the config of one of its steps."""
import copy

import torch
from mmengine.config import Config

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.problems import problem_of
from mmseg_spwc.scenario import Scenario, build_scenario

from .keys import KEYS, check_single_values
from .length import check_length, set_length
from .priorities import self_paced_hook, set_priorities, set_teacher
from .stages import GROUPS, overrides, stage_of
from .types import (
    AMP_FORMS,
    GUARDS,
    LOG_PROCESSOR,
    OURS,
    SHARDED,
    TRANSITION,
    ours,
)

DEFAULT_NAME = 'visualizer'  # in the configs of all OpenMMLab projects
# of one step they are the sequence's matter
OF_THE_RUN = (*KEYS, 'work_dir', 'load_from', 'resume', 'launcher',
              'experiment_name', 'runner_type')


def scenario_of(cfg: Config) -> Scenario:
    """Return the scenario of a config.

    Where it leaves something to chance (the order of classes, permutations)
    and gives no seed, the run's own seed decides.
    """
    given = cfg.scenario.to_dict()
    if given.get('problem') == 'classification' and \
            given.get('seed') is None:
        given['seed'] = (cfg.get('randomness') or {}).get('seed') or 0
    return build_scenario(given)


def steps_of(cfg: Config, scenario: Scenario) -> list[int]:
    """Return the steps that are trained: all, or the first or last alone."""
    steps = list(range(scenario.num_steps))
    alone = dict(first=steps[:1], last=steps[-1:])
    run = cfg.method.get('run')
    return alone[run] if run in tuple(alone) else steps


def step_config(cfg: Config,
                scenario: Scenario,
                step: int,
                world_size: int = 1) -> Config:
    """Return the complete MMEngine config of one step.

    It depends on its arguments only, and with several processes on whether
    there are GPUs. What it returns is exactly what
    ``tools/misc/print_config.py CONFIG --step N`` prints and what runs; a
    step that goes on after an interruption gets ``load_from`` and ``resume``
    besides, and ``train_cfg.min_iters`` becomes epochs when the images have
    been counted (:func:`settle_length`).

    The order of merging is: the config itself, what the scenario decides
    (channels, images, labels, metric), the schedule's overrides, the
    method's overrides, each as it is in this scenario (:mod:`.stages`). So a
    method may change everything, for instance
    ``train_dataloader.dataset.cumulative``.

    Args:
        cfg (Config): The config of the sequence.
        scenario (Scenario): What is learnt when.
        step (int): The step, from 0.
        world_size (int): Number of processes. Defaults to 1.

    Returns:
        Config: A config that ``Runner.from_cfg`` takes.
    """
    stage = stage_of(cfg['method'], step)
    base = {k: v for k, v in cfg.to_dict().items() if k not in KEYS}
    # MMEngine writes it out seven times; yapf would take 0.3 s per step
    out = Config(copy.deepcopy(base), filename=cfg.filename,
                 format_python_code=False)
    seed = (cfg.get('randomness') or {}).get('seed') or 0
    problem = problem_of(scenario)
    problem.set_model(out, cfg, scenario, step)
    problem.set_data(out, cfg, scenario, step, seed + step)
    _set_loading(out.train_dataloader, cfg.get('total_batch_size'),
                 world_size)
    _set_runtime(out, cfg, step, seed)
    out.hooks = dict(transition=_transition(cfg, step, stage))
    if cfg.get('self_paced') and stage == 'later':
        out.hooks['self_paced'] = self_paced_hook(cfg)
    for name in GROUPS:
        for place, change in overrides(cfg, name, scenario, step).items():
            for key in change.keys() & {*OF_THE_RUN}:
                raise ConfigError(
                    f'{name}.{place}.{key} has no effect, since {key} is one '
                    f'for the whole run: set {key} beside {name}.')
            out.merge_from_dict(change)
    if cfg.get('amp'):
        _use_mixed_precision(out.optim_wrapper)
    check_single_values(out)
    _set_replay(out.train_dataloader)
    if out.model.get('allocate') is not None:
        _allocate(out.model, scenario, step)
    if out.hooks.get('self_paced'):
        set_priorities(out, scenario, cfg.self_paced.get('on'))
    set_teacher(out)
    _finish(out, cfg)
    _set_progress(out, steps_of(cfg, scenario), step)
    if world_size > 1:
        _distribute(out)
    return out


def _set_loading(loader: Config, total: int | None, world_size: int) -> None:
    sampler = loader.get('sampler') or dict(
        type='DefaultSampler', shuffle=True)
    sampler['type'] = ours(sampler['type'])
    loader.sampler = sampler
    if total is None:
        return
    if total % world_size:
        raise ConfigError(
            f'total_batch_size={total} cannot be split over {world_size} '
            'processes: use a number of processes that divides it.')
    loader.batch_size = total // world_size


def _set_replay(loader: Config) -> None:
    """Let the sampler know of the memory, if there is one."""
    if loader.dataset.get('replay') is None:
        return
    if loader.sampler.type != OURS['DefaultSampler']:
        raise ConfigError(
            f'replay cannot be mixed in by the sampler {loader.sampler.type}: '
            "use sampler=dict(type='DefaultSampler', shuffle=True), which "
            'goes by epochs.')
    loader.sampler.update(
        type='mmseg_spwc.ReplaySampler', batch_size=loader.batch_size)


def _set_runtime(out: Config, cfg: Config, step: int, seed: int) -> None:
    out.work_dir = f'{cfg.work_dir}/step_{step:02d}'
    out.randomness = dict(out.get('randomness') or {}, seed=seed + step)
    out.resume = False
    out.load_from = None
    out.runner_type = 'Runner'
    name = out.get('experiment_name') or 'run'
    out.experiment_name = f'{name}_step_{step:02d}'
    if out.get('visualizer'):
        given = out.visualizer.get('name') or DEFAULT_NAME
        given = name if given == DEFAULT_NAME else given
        out.visualizer.name = f'{given}_step_{step:02d}'


def _set_progress(out: Config, steps: list, step: int) -> None:
    """Let the line in the terminal say where in the sequence it is."""
    given = out.get('log_processor') or {}
    if given.get('type') not in (None, 'LogProcessor', LOG_PROCESSOR):
        raise ConfigError(
            f'log_processor.type is {given.type}: a sequence needs its own, '
            'which also says where it is. Leave the type out; the other '
            'options are kept.')
    out.log_processor = dict(
        given,
        type=LOG_PROCESSOR,
        by_epoch='max_epochs' in out.train_cfg,
        step=step,
        place=f'{sum(s <= step for s in steps)}/{len(steps)}')


def _allocate(model: Config, scenario: Scenario, step: int) -> None:
    """Let the scenario say which channels are still to come."""
    if model.allocate != 'all':
        raise ConfigError(f"model.allocate is {model.allocate!r}: it is "
                          "'all' or None.")
    last = scenario.num_steps - 1
    model.allocate = list(scenario.channels(last)[step + 1:])


def _use_mixed_precision(wrapper: Config) -> None:
    """Switch the optimiser wrapper to its mixed-precision form."""
    kind = wrapper.get('type', 'OptimWrapper')
    if kind not in ('OptimWrapper', *AMP_FORMS.values()):
        raise ConfigError(f'--amp does not know the wrapper {kind}; '
                          'choose its mixed-precision form in the '
                          'config.')
    place = 'cuda' if torch.cuda.is_available() else 'cpu'
    wrapper.type = AMP_FORMS[place]
    if place == 'cuda':
        wrapper.setdefault('loss_scale', 'dynamic')


def _transition(cfg: Config, step: int, stage: str) -> dict:
    hook = dict(type=TRANSITION, step=step)
    if stage == 'first':
        hook['backbone_weights'] = cfg.get('backbone_weights')
        if cfg.get('load_from'):
            hook['load_from'] = cfg.load_from
    else:
        hook['previous'] = checkpoint_path(cfg.work_dir, step - 1)
    return hook


def checkpoint_path(work_dir: str, step: int) -> str:
    """Where the weights of a finished step are kept."""
    return f'{work_dir}/step_{step:02d}/final.pth'


def _finish(out: Config, cfg: Config) -> None:
    """Turn the named hooks into MMEngine's list, and set the length."""
    named = out.pop('hooks')
    out.custom_hooks = [
        *(out.get('custom_hooks') or []),
        *(hook for hook in named.values() if hook),
        dict(type='mmseg_spwc.DisplayHook'),
    ]
    add_guards(out)
    check_length(out.train_cfg)
    set_length(out, cfg)


def add_guards(out: Config) -> None:
    """Add the guards to a step's config, in place.

    They are default hooks, so ``default_hooks.finite_guard=None`` leaves one
    out and ``default_hooks.collapse_monitor.window=200`` sets an option.
    """
    hooks = dict(out.get('default_hooks') or {})
    hooks.setdefault('checkpoint', dict(interval=1))
    for name, kind in dict(GUARDS, checkpoint='CheckpointHook').items():
        if hooks.setdefault(name, {}) is not None:
            hooks[name] = dict(dict(type=kind), **hooks[name])
            hooks[name]['type'] = ours(hooks[name]['type'])
    out.default_hooks = {
        name: hook for name, hook in hooks.items()
        if hook is not None or name not in GUARDS
    }
    if out.train_cfg.get('by_epoch') or 'max_epochs' in out.train_cfg:
        out.train_cfg.pop('by_epoch', None)
        out.train_cfg.setdefault('type', 'EpochBasedTrainLoop')
        out.train_cfg.type = ours(out.train_cfg.type)
    _steady_workers(out)


def _steady_workers(out: Config) -> None:
    for name in ('train_dataloader', 'val_dataloader', 'test_dataloader'):
        loader = out.get(name)
        if not loader:
            continue
        if not loader.get('num_workers'):
            for option in ('persistent_workers', 'prefetch_factor'):
                loader.pop(option, None)  # torch refuses them here
            continue
        quiet = loader.pop('disable_subprocess_warning', False)
        loader.setdefault('worker_init_fn', dict(
            type='mmseg_spwc.steady_worker_init',
            num_workers=loader.num_workers,
            seed=(out.get('randomness') or {}).get('seed') or 0,
            disable_subprocess_warning=quiet))


def _distribute(out: Config) -> None:
    """Set what a step needs to run in several processes.

    On GPUs ``BN`` is turned into torch's ``SyncBatchNorm``, so that it
    normalises over the whole batch and not over each process's share of it;
    a config that sets ``sync_bn`` itself is left alone (None keeps ``BN``).
    On CPUs, where there is no such layer, the wrapper is told to use no
    device, unless the config has a ``model_wrapper_cfg`` of its own.

    A ``ShardedModel`` is stored at the end of a step only, since MMEngine's
    checkpoints are written by one process, which has one share of the
    weights.
    """
    if torch.cuda.is_available():
        out.setdefault('sync_bn', 'torch')
    elif not out.get('model_wrapper_cfg'):
        out.model_wrapper_cfg = dict(
            type='MMDistributedDataParallel', device_ids=None)
    if (out.get('model_wrapper_cfg') or {}).get('type') == SHARDED:
        out.default_hooks.checkpoint = None
