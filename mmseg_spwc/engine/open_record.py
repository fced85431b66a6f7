"""The record of a run that is continued, or a new one."""
import dataclasses
import hashlib
import json
import subprocess
import sys
from pathlib import Path

from mmengine.config import Config
from mmengine.dist import get_world_size

from mmseg_spwc.compat import installed
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.record import FILE_NAME, Record, config_text
from mmseg_spwc.runtime.checkpoint import differences, facts_of
from mmseg_spwc.scenario import Scenario, build_scenario
from mmseg_spwc.terminal import say, warn
from mmseg_spwc.utils.distributed import from_first_rank
from mmseg_spwc.utils.own import seal

# keys that say where and how a run is made, not what its result is
PLACES = ('work_dir', 'resume', 'launcher', 'data_root',
          'cache_dir', 'keep_decoded', 'experiment_name', 'log_level',
          'env_cfg', 'visualizer', 'vis_backends', 'log_processor',
          'start_from', 'verbose', 'accept')
PACKAGES = ('mmseg_spwc', 'torch', 'torchvision', 'mmengine', 'mmcv',
            'mmcv-lite', 'mmsegmentation', 'mmpretrain', 'onedl-mmengine',
            'onedl-mmcv', 'onedl-mmsegmentation', 'onedl-mmpretrain', 'numpy')


def open_record(cfg: Config, scenario: Scenario, method: str) -> Record:
    """Read the record of a run that goes on, or begin a new one.

    The first rank reads; what it finds, an error included, holds for all. A
    run that this one does not continue is an error.
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
    if content['scenario']['hash'] != scenario.hash:
        _go_on_to(content, scenario, run)
        return content
    if content['run']['config_hash'] != run['config_hash']:
        warn('The config has changed since this run began; its first steps '
             'were made with the old one, which the record keeps.')
    if content['steps'] and content['status'] != 'finished':
        say(f'The run goes on after step {content["steps"][-1]["step"]}.')
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
        packages=dict(installed(PACKAGES), python=sys.version.split()[0]),
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

    Another scenario may have other steps after those that have begun. A
    changed config is allowed with a warning: a user may lengthen a schedule
    on purpose.
    """
    found = dict(scenario=_changes(content, scenario, work_dir))
    for key, old, new in (('method', content['method'], method),
                          ('seed', content['run']['seed'], run['seed'])):
        found[key] = [f'{old}, not {new}'] if old != new else []
    for key, words in found.items():
        if words:
            raise ConfigError(
                f'{work_dir} holds a run of another {key} '
                f'({"; ".join(words[:5])}): choose another --work-dir. '
                'Nothing was changed.')


def _changes(content: dict, scenario: Scenario, work_dir: Path) -> list[str]:
    """In what a scenario changes steps of a run that have begun."""
    if content['scenario']['hash'] == scenario.hash:
        return []
    if content['problem'] != scenario.problem:
        return [f'{content["problem"]} there, {scenario.problem} here']
    known = {f.name for f in dataclasses.fields(scenario)} | {'problem'}
    before = build_scenario({
        k: v for k, v in content['scenario'].items() if k in known})
    begun = max([0, *(entry['step'] for entry in content['steps']), *(
        int(path.parent.name.removeprefix('step_'))
        for path in work_dir.glob('step_*/*.pth'))])
    return differences(*(
        facts_of(one, min(begun, one.num_steps - 1))
        for one in (before, scenario)))


def _go_on_to(content: dict, scenario: Scenario, run: dict) -> None:
    """Give a record the scenario that has further steps."""
    earlier = content['run'].pop('earlier', [])
    content['run'] = dict(run, earlier=[*earlier, dict(
        steps=len(content['steps']), config=content['run']['config'],
        command=content['run']['command'])])
    content['scenario'] = dict(scenario.to_dict(), hash=scenario.hash)
    content['status'] = 'running'
    say(f'The run goes on after step {len(content["steps"]) - 1}, in a '
        f'scenario of now {scenario.num_steps} steps.')


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
