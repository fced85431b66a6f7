"""From a command line to a config that is ready to run."""
import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

import torch
from mmengine.config import Config, DictAction
from mmengine.dist import is_distributed

from mmseg_spwc.errors import ConfigError, input_errors

_PLAIN = dict(cuda='AmpOptimWrapper', cpu='mmseg_spwc.CpuAmpOptimWrapper')
_CONSOLIDATED = dict(
    cuda='mmseg_spwc.ConsolidatedAmpOptimWrapper',
    cpu='mmseg_spwc.ConsolidatedCpuAmpOptimWrapper')
# mixed-precision form of an optimiser wrapper, by device
AMP_FORMS = {
    'OptimWrapper': _PLAIN,
    'mmseg_spwc.ConsolidatedOptimWrapper': _CONSOLIDATED,
    **dict.fromkeys(_PLAIN.values(), _PLAIN),
    **dict.fromkeys(_CONSOLIDATED.values(), _CONSOLIDATED),
}


class KeyValues(DictAction):
    """MMEngine's ``key=value`` options, with a word about other forms."""

    def __call__(self, parser, namespace, values, option_string=None):
        wrong = [value for value in values if not value.partition('=')[1]]
        if wrong:
            parser.error(f'{option_string} takes key=value pairs, not '
                         f'{wrong[0]!r}: write it without blanks around =.')
        super().__call__(parser, namespace, values, option_string)


def add_options(parser: ArgumentParser) -> None:
    """Add the options that every tool which runs a config shares."""
    parser.add_argument('config', help='config of the sequence')
    parser.add_argument('--work-dir', help='folder for logs, weights, record')
    parser.add_argument(
        '--launcher',
        choices=['none', 'pytorch', 'slurm', 'mpi'],
        default='none',
        help='job launcher')
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        action=KeyValues,
        help='overrides of the config, as key=value')
    # older launchers pass the rank as an option, newer ones as a variable
    parser.add_argument(
        '--local_rank',
        '--local-rank',
        type=lambda rank: os.environ.setdefault('LOCAL_RANK', rank),
        help='set by the launcher')


def load_config(args: Namespace) -> Config:
    """Read a config and apply the options that every tool shares.

    The work_dir is that of the command line, else the config's, else
    ``work_dirs/<config name>``.

    Args:
        args (Namespace): With ``config`` and, optionally, ``work_dir``,
            ``cfg_options``, ``resume``, ``amp`` and ``launcher``.

    Returns:
        Config: The config of the sequence.
    """
    if not Path(args.config).is_file():
        raise ConfigError(f'There is no config at {args.config}.')
    try:
        cfg = Config.fromfile(args.config)
    except Exception as error:  # a config is a program: it may raise any
        raise ConfigError(
            f'{args.config} cannot be read ({type(error).__name__}: '
            f'{error}): correct it or the _base_ file at fault.') from error
    if getattr(args, 'cfg_options', None):
        with input_errors('--cfg-options'):
            cfg.merge_from_dict(args.cfg_options)
    if not cfg.get('runner_type'):
        raise ConfigError(
            f'{args.config} is no config of a sequence: let it inherit '
            'configs/_base_/default_runtime.py, or set '
            "runner_type='mmseg_spwc.ContinualRunner'.")
    name = Path(args.config).stem
    cfg.work_dir = getattr(args, 'work_dir', None) or cfg.get(
        'work_dir') or f'work_dirs/{name}'
    cfg.experiment_name = cfg.get('experiment_name') or name
    cfg.launcher = getattr(args, 'launcher', 'none')
    cfg.resume = getattr(args, 'resume', False)
    cfg.verbose = getattr(args, 'verbose', False) or cfg.get('verbose', False)
    if getattr(args, 'amp', False):
        use_mixed_precision(cfg)
    return cfg


def use_mixed_precision(cfg: Config) -> None:
    """Switch the optimiser wrapper to its mixed-precision form.

    Method and schedule may name a wrapper too, so theirs are switched as
    well.
    """
    place = 'cuda' if torch.cuda.is_available() else 'cpu'
    parts = [cfg.optim_wrapper]
    cfg.optim_wrapper.setdefault('type', 'OptimWrapper')
    for group in (cfg.get('schedule') or {}, cfg.get('method') or {}):
        parts += [
            stage.optim_wrapper for stage in group.values()
            if isinstance(stage, dict) and 'optim_wrapper' in stage
        ]
    for part in parts:
        kind = part.get('type')
        if kind is None:
            continue
        if kind not in AMP_FORMS:
            raise ConfigError(f'--amp does not know the wrapper {kind}; '
                              'choose its mixed-precision form in the '
                              'config.')
        part.type = AMP_FORMS[kind][place]
    if place == 'cuda':
        cfg.optim_wrapper.setdefault('loss_scale', 'dynamic')


def start_processes(launcher: str) -> None:
    """Join the process group where MMEngine cannot do it: on CPUs.

    MMEngine's launcher sets a CUDA device; without one the group is opened
    here with gloo, and MMEngine then uses it.
    """
    if launcher == 'none' or torch.cuda.is_available() or is_distributed():
        return
    if launcher != 'pytorch':
        raise ConfigError('Without a GPU only the launcher pytorch works: '
                          'use torchrun.')
    os.environ.setdefault('LOCAL_RANK', '0')
    torch.distributed.init_process_group('gloo')
