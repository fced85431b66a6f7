"""From a trial to its config, its process, and what is known of it."""
import argparse
import difflib
import hashlib
import json
import os
import pprint
from collections.abc import Iterator, Mapping
from pathlib import Path

from mmengine.config import Config
from mmengine.registry import init_default_scope

from mmseg_spwc.cli import MIM
from mmseg_spwc.engine.launch import load_config
from mmseg_spwc.engine.open_record import PLACES, config_hash
from mmseg_spwc.engine.preflight import check_start_files, plan_steps
from mmseg_spwc.engine.sequence import ContinualRunner
from mmseg_spwc.engine.step_config import checkpoint_path, step_config
from mmseg_spwc.errors import ConfigError, input_errors
from mmseg_spwc.record import FILE_NAME, Record
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.utils.files import write_text

from .plan import Trial
from .sweep_file import SELECT, Sweep


def trial_config(trial: Trial, folder: Path) -> Config:
    """Return the whole config of a trial.

    Args:
        trial (Trial): The trial.
        folder (Path): Its work_dir.

    Raises:
        ConfigError: If the config cannot be read, or the grid varies a key
            that it does not have.
    """
    args = argparse.Namespace(
        config=trial.method.config,
        cfg_options=trial.options,
        work_dir=str(folder))
    plain = load_config(args).to_dict()
    for key in trial.setting:
        if not _has(plain, key):
            near = difflib.get_close_matches(key, list(_keys(plain)), 1)
            hint = f' (did you mean {near[0]!r}?)' if near else ''
            raise ConfigError(
                f'The grid varies {key!r}, which {trial.method.config} does '
                f'not have{hint}. If it shall be new, give it a value in '
                'cfg_options first.')
    args.cfg_options = {**trial.options, **trial.setting}
    return load_config(args)


def _has(cfg: Mapping, key: str) -> bool:
    for word in key.split('.'):
        if isinstance(cfg, (list, tuple)):
            cfg = dict(enumerate(cfg))
            word = int(word) if word.isdigit() else word
        if not isinstance(cfg, Mapping) or word not in cfg:
            return False
        cfg = cfg[word]
    return True


def _keys(cfg: Mapping, before: str = '') -> Iterator[str]:
    for key, value in cfg.items():
        yield f'{before}{key}'
        if isinstance(value, Mapping):
            yield from _keys(value, f'{before}{key}.')


def check_trial(cfg: Config, select: str | None) -> dict[int, int]:
    """Find what is wrong with parts, data or selection before training.

    Args:
        cfg (Config): The config of a trial.
        select (str, optional): The score that selects.

    Returns:
        dict[int, int]: Iterations of every step.
    """
    runner = ContinualRunner(cfg)
    problem = runner.scenario.problem
    if select and SELECT[select] != problem:
        raise ConfigError(f'select is {select!r}, but the problem is '
                          f'{problem}.')
    if select and not (cfg.get('heldout') or {}).get('ratio'):
        raise ConfigError('select needs scores on a held-out slice: set '
                          'heldout.ratio above 0, such as 0.1.')
    check_start_files(cfg)
    init_default_scope(cfg.get('default_scope', 'mmseg'))
    with input_errors('data'):
        return plan_steps(cfg, runner.scenario, runner.steps).iterations


def first_step_key(cfg: Config) -> str | None:
    """Tell apart what trains step 0.

    Two trials with equal keys train the same weights at step 0: the configs
    of that step are equal but for places, for what later steps of the
    scenario hold, and for hooks that only measure when a step is done
    (``trains_first_step = False``).

    Returns:
        str | None: 12 hex digits; None if step 0 is not trained at all, or
        hands on more than its weights.
    """
    runner = ContinualRunner(cfg)
    if 0 not in runner.steps:
        return None
    init_default_scope(cfg.get('default_scope', 'mmseg'))
    with input_errors('config'):
        step = step_config(cfg, runner.scenario, 0).to_dict()
        if (step['model'].get('rc') or {}).get('init') == 'carry':
            return None  # step 1 goes on with the branches of step 0
        step['custom_hooks'] = [
            hook for hook in step['custom_hooks'] if _trains(hook)
        ]
    facts = {k: v for k, v in step.items() if k not in PLACES}
    facts = _replace(facts, runner.scenario.to_dict(),
                     runner.scenario.base_hash)
    text = json.dumps(facts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _trains(hook: Mapping) -> bool:
    """Whether a hook takes part in the training of step 0."""
    hook = {k: v for k, v in hook.items() if k != 'priority'}
    return getattr(HOOKS.build(hook), 'trains_first_step', True)


def _replace(value: object, old: object, new: object) -> object:
    """Put ``new`` wherever ``old`` stands inside dicts and lists."""
    if value == old:
        return new
    if isinstance(value, Mapping):
        return {k: _replace(v, old, new) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replace(v, old, new) for v in value]
    return value


def read_record(folder: Path, cfg: Config | None = None) -> Record | None:
    """Return the record of a run, or None if it has none yet.

    Args:
        folder (Path): The run's work_dir.
        cfg (Config, optional): Its config, if it must be that of the record.

    Raises:
        ConfigError: If the record is that of another config.
    """
    if not (folder / FILE_NAME).exists():
        return None
    record = Record.read(folder)
    if cfg is not None and \
            record.content['run']['config_hash'] != config_hash(cfg):
        raise ConfigError(
            f'{folder} holds a run of another config than the sweep has now: '
            'remove that folder, or choose another --work-dir. Nothing was '
            'changed.')
    return record


def write_config(cfg: Config, path: Path) -> None:
    """Write a config as a file that ``tools/train.py`` takes."""
    lines = [
        f'{key} = {pprint.pformat(value, width=79, sort_dicts=False)}'
        for key, value in cfg.to_dict().items()
    ]
    write_text(path, '\n'.join(lines) + '\n')


def make_job(cfg: Config, folder: Path, sweep: Sweep) -> dict:
    """Write the config of a trial; return what its process needs.

    A trial with several GPUs gets one process for each of them.
    """
    folder = folder.absolute()
    cfg.work_dir = str(folder)
    if cfg.get('start_from'):
        cfg.start_from = os.path.abspath(cfg.start_from)
    write_config(cfg, folder / 'config.py')
    processes = max(int(sweep.gpus), 1)
    command = [str(MIM / 'tools' / 'train.py'), str(folder / 'config.py'),
               '--resume']
    if processes > 1:
        command = ['-m', 'torch.distributed.run', '--standalone',
                   f'--nproc_per_node={processes}', *command,
                   '--launcher', 'pytorch']
    own = {k: v for k, v in os.environ.items()
           if k.startswith('MMSEG_SPWC_')}
    threads = max(int(sweep.cpus / processes), 1)
    return dict(folder=str(folder), command=command, cwd=os.getcwd(),
                env=dict(own, OMP_NUM_THREADS=str(threads)))


def first_step_weights(folder: Path) -> str:
    """Where a run keeps the weights of its step 0."""
    return checkpoint_path(str(folder), 0)
