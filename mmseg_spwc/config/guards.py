"""The default safety hooks and settings of every step."""
from mmengine.config import Config

from .types import ours

GUARDS = dict(
    finite_guard='mmseg_spwc.FiniteGuardHook',
    collapse_monitor='mmseg_spwc.CollapseMonitorHook',
    preemption='mmseg_spwc.PreemptionHook')


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
