"""Everything that is decided and checked before a sweep begins."""
import copy
from dataclasses import dataclass
from pathlib import Path

from mmengine.config import Config

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.record import Record

from .plan import Trial, Work, borrow_first_steps, plan_trials, plan_work
from .sweep_file import Sweep
from .trial_config import (
    check_trial,
    first_step_key,
    read_record,
    trial_config,
)


@dataclass(frozen=True)
class Prepared:
    """A sweep that can begin.

    Args:
        sweep (Sweep): The file.
        trials (list[Trial]): All trials.
        configs (dict[str, Config]): By trial.
        iterations (dict[str, dict]): By trial, those of every step.
        records (dict[str, Record | None]): By trial, what there is already.
        work (Work): What is still to do.
    """
    sweep: Sweep
    trials: list
    configs: dict
    iterations: dict
    records: dict
    work: Work

    @property
    def folder(self) -> Path:
        return Path(self.sweep.work_dir)

    def trial_folder(self, name: str) -> Path:
        return self.folder / 'trials' / name

    def first_step_folder(self, key: str) -> Path:
        return self.folder / 'step_0' / key


def prepare(sweep: Sweep) -> Prepared:
    """Plan a sweep, and find every mistake that can be found now.

    Every setting is checked as a run would be: keys, parts, data.

    Raises:
        ConfigError: If a trial cannot be run; it is named.
    """
    trials = plan_trials(sweep)
    plan = Prepared(sweep, trials, {}, {}, {}, Work([], {}, {}))
    checked: dict = {}
    keys = {}
    for trial in trials:
        name = trial.name
        try:
            if trial.group not in checked:
                cfg = trial_config(trial, plan.trial_folder(name))
                checked[trial.group] = cfg, check_trial(cfg, sweep.select)
            cfg, plan.iterations[name] = checked[trial.group]
            cfg = _with_seed(cfg, trial, plan.trial_folder(name))
            plan.configs[name] = cfg
            keys[name] = first_step_key(cfg)
            plan.records[name] = read_record(plan.trial_folder(name), cfg)
        except ConfigError as error:
            raise ConfigError(f'{name}: {error}') from error
    keys = borrow_first_steps(trials, keys)
    work = plan_work(keys, _recorded(plan, keys), [
        name for name, record in plan.records.items() if is_finished(record)
    ])
    return Prepared(sweep, trials, plan.configs, plan.iterations,
                    plan.records, work)


def is_finished(record: Record | None) -> bool:
    return record is not None and record.content['status'] == 'finished'


def _with_seed(cfg: Config, trial: Trial, folder: Path) -> Config:
    cfg = copy.deepcopy(cfg)
    cfg.work_dir = str(folder)
    cfg.merge_from_dict({'randomness.seed': trial.seed})
    return cfg


def _recorded(plan: Prepared, keys: dict) -> dict:
    """Number of recorded steps by trial and by shared step 0."""
    records = dict(plan.records)
    for key in {key for key in keys.values() if key is not None}:
        records[key] = read_record(plan.first_step_folder(key))
    return {name: 0 if record is None else len(record.steps)
            for name, record in records.items()}
