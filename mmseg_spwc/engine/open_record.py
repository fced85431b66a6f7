"""The record that a run goes on with, or a new one that says its origin."""
import hashlib
import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

from mmengine.config import Config
from mmengine.dist import get_world_size

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.record import FILE_NAME, Record, config_text
from mmseg_spwc.scenario import Scenario
from mmseg_spwc.terminal import warn
from mmseg_spwc.utils.distributed import from_first_rank
from mmseg_spwc.utils.own import seal

# keys that say where and how a run is made, not what its result is
PLACES = ('work_dir', 'resume', 'launcher', 'data_root',
          'cache_dir', 'keep_decoded', 'experiment_name', 'log_level',
          'env_cfg', 'visualizer', 'vis_backends', 'log_processor',
          'start_from', 'verbose', 'accept')
PACKAGES = ('mmseg_spwc', 'torch', 'torchvision', 'mmengine', 'mmcv',
            'mmcv-lite', 'mmsegmentation', 'mmpretrain', 'numpy')


def open_record(cfg: Config, scenario: Scenario, method: str) -> Record:
    """Read the record of a run that goes on, or begin a new one.

    The first rank reads; what it finds, an error included, holds for all.

    Args:
        cfg (Config): The config of the sequence, with ``work_dir``.
        scenario (Scenario): What is learnt when.
        method (str): The method's name.

    Raises:
        ConfigError: If the work_dir holds a run that this one does not
            continue.
    """
    run = _describe(cfg)
    content = from_first_rank(_old_content, cfg, scenario, method, run)
    if content is not None:
        return Record(content)
    facts = dict(scenario.to_dict(), hash=scenario.hash)
    return Record.new(scenario.problem, run, facts, method)


def _old_content(cfg: Config, scenario: Scenario, method: str,
                 run: dict) -> dict | None:
    work_dir = Path(cfg.work_dir)
    exists = (work_dir / FILE_NAME).exists()
    if not exists and not any(work_dir.glob('step_*/*.pth')):
        return None
    if not cfg.get('resume'):
        raise ConfigError(
            f'{work_dir} already holds a run. Continue it with --resume, or '
            'choose another --work-dir; nothing was changed.')
    if not exists:
        return None
    content = Record.read(work_dir).content
    _check_same_run(content, scenario, method, run, work_dir)
    return content


def _describe(cfg: Config) -> dict:
    """Return the ``run`` part of a record."""
    text = config_text(cfg.to_dict())
    mark = seal(text)
    return dict(
        name=cfg.get('experiment_name') or 'run',
        config=text,
        **(dict(seal=mark) if mark else {}),
        config_hash=config_hash(cfg),
        seed=(cfg.get('randomness') or {}).get('seed') or 0,
        command=' '.join(sys.argv),
        packages=_packages(),
        commit=_commit(),
        world_size=get_world_size())


def config_hash(cfg: Config) -> str:
    """Hash of the part of a config that decides the result."""
    content = {k: v for k, v in cfg.to_dict().items() if k not in PLACES}
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _check_same_run(content: dict, scenario: Scenario, method: str,
                    run: dict, work_dir: Path) -> None:
    """Refuse to continue the run of another scenario, method or seed.

    A changed config of the same run is allowed with a warning: a user may
    lengthen a schedule on purpose.
    """
    old = dict(
        scenario=content['scenario']['hash'],
        method=content['method'],
        seed=content['run']['seed'])
    new = dict(scenario=scenario.hash, method=method, seed=run['seed'])
    for key in old:
        if old[key] != new[key]:
            raise ConfigError(
                f'{work_dir} holds a run of another {key} ({old[key]}, not '
                f'{new[key]}): choose another --work-dir. Nothing was '
                'changed.')
    if content['run']['config_hash'] != run['config_hash']:
        warn('The config has changed since this run began; its first steps '
             'were made with the old one, which the record keeps.')


def _packages() -> dict:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    versions['python'] = sys.version.split()[0]
    return versions


def _commit() -> str | None:
    folder = Path(__file__).resolve().parents[2]
    if not (folder / '.git').exists():
        return None
    try:
        done = subprocess.run(['git', 'rev-parse', 'HEAD'], cwd=folder,
                              capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
