"""From a command line to a config that is ready to run."""
import difflib
import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from mmengine.config import Config, DictAction
from mmengine.utils import import_modules_from_strings

from mmseg_spwc.compat import CONFIGS
from mmseg_spwc.errors import (
    NO_ROOM,
    ConfigError,
    RecordError,
    input_errors,
)
from mmseg_spwc.record import FILE_NAME, Record
from mmseg_spwc.registry import RUNNERS
from mmseg_spwc.scenario import Scenario
from mmseg_spwc.terminal import shown
from mmseg_spwc.utils.own import ADVICE

from .keys import KNOWN, LAUNCHERS, check_single_values
from .stages import GROUPS, check_effect, check_tables
from .start import settle_classes
from .step import scenario_of, steps_of

SEQUENCE = 'mmseg_spwc.ContinualRunner'


class KeyValues(DictAction):
    """MMEngine's ``key=value`` options, with an error for other forms."""

    def __call__(self, parser, namespace, values, option_string=None):
        wrong = [value for value in values if not value.partition('=')[1]]
        if wrong:
            parser.error(f'{option_string} takes key=value pairs, not '
                         f'{wrong[0]!r}: write it without spaces around =.')
        super().__call__(parser, namespace, values, option_string)


def add_config_options(parser: ArgumentParser) -> None:
    """Add the options that say which config, and what to change in it."""
    parser.add_argument('config', help='config of the sequence')
    parser.add_argument(
        '--trust', action='store_true',
        help='take the config out of a record that somebody else wrote')
    parser.add_argument(
        '--scenario', help='what is learnt when, such as 15-1 or 10x10')
    parser.add_argument(
        '--setting', help='which images a step sees, such as disjoint')
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        action=KeyValues,
        help='overrides of the config, as key=value')


def add_options(parser: ArgumentParser) -> None:
    """Add the options that every tool which runs a config shares."""
    add_config_options(parser)
    parser.add_argument('--work-dir', help='folder for logs, weights, record')
    parser.add_argument(
        '--launcher',
        choices=LAUNCHERS,
        help='job launcher')
    # older launchers pass the rank as an option, newer ones as a variable
    parser.add_argument(
        '--local_rank',
        '--local-rank',
        type=lambda rank: os.environ.setdefault('LOCAL_RANK', rank),
        help='set by the launcher')


def load_config(args: Namespace) -> Config:
    """Read a config and apply the options that every tool shares.

    The command line wins over the config. The work_dir is that of the command
    line, else the config's, else
    ``work_dirs/<config name>/<scenario and setting>``.
    """
    cfg = read_config(args.config, getattr(args, 'trust', False))
    name = Path(args.config).stem
    scenario = _apply(cfg, _options(args, cfg))
    if cfg.get('scenario') and cfg.get('method'):  # ours, and nobody else's
        cfg.setdefault('runner_type', SEQUENCE)
    kind = cfg.get('runner_type')
    if 'methods' in cfg and not kind:
        raise ConfigError(f'{args.config} is a sweep: run tools/sweep.py '
                          'with it.')
    if not kind or RUNNERS.get(kind) is None:
        raise ConfigError(
            f'{args.config} is not a config of a sequence: let it inherit '
            'configs/_base_/default_runtime.py, or give it a scenario and a '
            f'method; then runner_type={SEQUENCE!r}.')
    label = re.sub(r'[^\w.-]+', '-', scenario.label) if scenario else ''
    cfg.work_dir = getattr(args, 'work_dir', None) or cfg.get(
        'work_dir') or str(Path('work_dirs', name, label))
    cfg.experiment_name = cfg.get('experiment_name') or (
        f'{name}_{label}' if label else name)
    cfg.launcher = getattr(args, 'launcher', None) or cfg.get(
        'launcher') or 'none'
    for switch in ('resume', 'verbose'):
        cfg[switch] = getattr(args, switch, False) or cfg.get(switch, False)
    if getattr(args, 'amp', False):
        cfg.amp = True
    return cfg


def config_path(path: str) -> str:
    """Where a config is, if it is named as one of the package's own."""
    package, inside, name = path.partition('mmseg_spwc::')
    return os.path.join(CONFIGS, name) if inside and not package else path


def read_config(path: str, trust: bool = False) -> Config:
    """Read a config as it is; a ``record.json`` is that of its run."""
    path = config_path(path)
    if not Path(path).is_file():
        raise ConfigError(f'There is no config at {path}.{_nearest(path)}')
    try:
        with shown(verbose=False):  # MMEngine tells of variables it uses
            if Path(path).name != FILE_NAME:
                return _from_file(path)
            record = Record.read(path)
            if not (trust or record.is_own):
                raise RecordError(
                    f'{path} is not of a run of yours, so the config in it '
                    f'(JSON, under run.config) is not used. {ADVICE}')
            cfg = Config(record.config)
            import_own(cfg)
            return cfg
    except RecordError:
        raise
    except Exception as error:  # a config is a program: it may raise any
        if getattr(error, 'errno', None) in NO_ROOM:
            raise
        raise ConfigError(
            f'{path} cannot be read ({type(error).__name__}: {error}): '
            'correct it or the _base_ file at fault.') from error


def _from_file(path: str) -> Config:
    """Read a config whose bases may import modules, each of its own.

    MMEngine refuses a key that two bases have, this one too.
    """
    found, read = [], Config._file2dict

    def without_imports(*args, **kwargs) -> tuple:
        content, *rest = read(*args, **kwargs)
        found.append(content.pop('custom_imports', None) or {})
        return content, *rest

    Config._file2dict = staticmethod(without_imports)
    try:
        cfg = Config.fromfile(path)
    finally:
        Config._file2dict = staticmethod(read)
    modules = [name for part in found
               for name in _listed(part.get('imports', []))]
    if modules:
        cfg.custom_imports = dict(
            imports=list(dict.fromkeys(modules)), allow_failed_imports=any(
                part.get('allow_failed_imports') for part in found))
        import_own(cfg)
    return cfg


def import_own(cfg: Mapping) -> None:
    """Import what ``custom_imports`` names.

    Modules in the current folder are found, too.
    """
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    if cfg.get('custom_imports'):
        import_modules_from_strings(**cfg['custom_imports'])


def _listed(value: str | list) -> list:
    return [value] if isinstance(value, str) else list(value)


def _nearest(path: str) -> str:
    """Name configs in the same folder that have a similar name."""
    folder = Path(path).parent
    beside = {
        file.name: str(file)
        for file in (*folder.parent.glob('*/*.py'), *folder.glob('*.py'))
    }
    near = [
        beside[name]
        for name in difflib.get_close_matches(Path(path).name, beside, 3, 0.6)
        if re.search(r'^_base_ *=', Path(beside[name]).read_text(), re.M)
    ]
    if not near:
        return ''
    return (f' Near it are {", ".join(near)}; scenarios are chosen with '
            '--scenario and --setting.')


def _options(args: Namespace, cfg: Config) -> dict:
    """All that the command line changes, by dotted key."""
    options = dict(getattr(args, 'cfg_options', None) or {})
    for key, word in (('name', 'scenario'), ('setting', 'setting')):
        value = getattr(args, word, None)
        if value is not None:
            options[f'scenario.{key}'] = value
    given = cfg.get('scenario')
    if getattr(args, 'scenario', None) and isinstance(given, Mapping) and \
            given.get('steps'):
        raise ConfigError(
            f'{args.config} lists the steps of its scenario: take '
            'scenario.steps out to choose one with --scenario.')
    return options


def _apply(cfg: Config, options: dict) -> Scenario | None:
    """Merge options into a config; return its scenario, if it has one."""
    with input_errors('--cfg-options'):
        cfg.merge_from_dict(options)
    check_tables(cfg, KNOWN)
    check_single_values(cfg)
    with shown(verbose=False):  # MMEngine tells of the file that it reads
        settle_classes(cfg)
    scenario = None
    if isinstance(cfg.get('scenario'), Mapping):
        with input_errors('scenario'):
            scenario = scenario_of(cfg)
    if scenario and cfg.get('method') and all(
            isinstance(cfg.get(g) or {}, Mapping) for g in GROUPS):
        check_effect(cfg, scenario, steps_of(cfg, scenario), options)
    return scenario
