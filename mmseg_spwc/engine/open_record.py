"""The record that a run goes on with, or a new one."""
from pathlib import Path

from mmengine.config import Config

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.record import FILE_NAME, Record
from mmseg_spwc.scenario import Scenario
from mmseg_spwc.utils.distributed import from_first_rank

from . import provenance


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
    run = provenance.describe(cfg)
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
    provenance.check_same_run(content, scenario, method, run, work_dir)
    return content
