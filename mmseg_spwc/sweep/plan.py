"""What a sweep will run: decided and checked before anything begins."""
import argparse
import copy
import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmengine.config import Config
from mmengine.registry import init_default_scope

from mmseg_spwc.config.load import load_config
from mmseg_spwc.config.preflight import check_start_files, plan_steps
from mmseg_spwc.config.stages import TABLE
from mmseg_spwc.config.step import step_config
from mmseg_spwc.engine.open_record import PLACES, config_hash
from mmseg_spwc.engine.sequence import ContinualRunner
from mmseg_spwc.errors import ConfigError, input_errors
from mmseg_spwc.record import FILE_NAME, Record
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.utils.options import is_list

from .sweep_file import SELECT, Method, Sweep, near, need

LONGEST = 150  # letters of a name; file systems take 255


@dataclass(frozen=True)
class Trial:
    """One run of a sweep; its name is that of its folder."""
    name: str
    method: Method
    scenario: str  # what to call it, '' for the config's own
    setting: dict  # the values of the grid's keys
    seed: int
    options: dict  # overrides of the config, without the setting's

    @property
    def group(self) -> str:
        """Name of the trials that differ in their seed only."""
        return self.name.removesuffix(f'_seed{self.seed}')


@dataclass(frozen=True)
class Work:
    """What is still to do."""
    trials: list  # that are not finished
    first_steps: dict  # by key of a shared step 0, the trial that trains it
    start_from: dict  # by trial, a finished trial or the key of its step 0


@dataclass(frozen=True)
class Plan:
    """A sweep that can begin; dicts are by trial."""
    sweep: Sweep
    trials: list
    configs: dict  # whole ones
    iterations: dict  # of every step
    records: dict  # None where there is none yet
    work: Work

    @property
    def folder(self) -> Path:
        return Path(self.sweep.work_dir)

    def folder_of(self, name: str) -> Path:
        """Where a trial or, by its key, a shared step 0 is trained."""
        kind = 'trials' if name in self.configs else 'step_0'
        return self.folder / kind / name

    def done(self, name: str) -> list[int]:
        """Steps that a trial need not train."""
        record = self.records[name]
        if name in self.work.start_from:
            return [0]
        return record.finished_steps if record else []


def prepare(sweep: Sweep) -> Plan:
    """Plan a sweep, and find every mistake that can be found now.

    Every setting is checked as a run would be: keys, parts, data.
    """
    trials = plan_trials(sweep)
    configs, iterations, records = {}, {}, {}
    checked: dict = {}
    keys = {}
    for trial in trials:
        name, folder = trial.name, Path(sweep.work_dir, 'trials', trial.name)
        try:
            if trial.group not in checked:
                cfg = trial_config(trial, folder)
                checked[trial.group] = cfg, check_trial(cfg, sweep.select)
            cfg, iterations[name] = checked[trial.group]
            cfg = configs[name] = copy.deepcopy(cfg)
            cfg.work_dir = str(folder)
            cfg.merge_from_dict({'randomness.seed': trial.seed})
            keys[name] = first_step_key(cfg)
            records[name] = read_record(folder, cfg)
        except ConfigError as error:
            raise ConfigError(f'{name}: {error}') from error
    keys = borrow_first_steps(trials, keys)
    known = records | {
        key: read_record(Path(sweep.work_dir, 'step_0', key))
        for key in keys.values() if key is not None}
    work = plan_work(
        keys, {name: len(record.steps) if record else 0
               for name, record in known.items()},
        [name for name, record in records.items() if is_finished(record)])
    return Plan(sweep, trials, configs, iterations, records, work)


def is_finished(record: Record | None) -> bool:
    return record is not None and record.content['status'] == 'finished'


def read_record(folder: Path, cfg: Config | None = None) -> Record | None:
    """The record of a run, None if it has none yet.

    With ``cfg`` the record of another config is refused.
    """
    if not (folder / FILE_NAME).exists():
        return None
    record = Record.read(folder)
    need(cfg is None or
         record.content['run']['config_hash'] == config_hash(cfg),
         f'{folder} holds a run of another config than the sweep has now: '
         'remove that folder, or choose another --work-dir. Nothing was '
         'changed.')
    return record


def plan_trials(sweep: Sweep) -> list[Trial]:
    """Return all trials; those of the first seed come first."""
    trials = [
        _trial(method, scenario, dict(zip(method.grid, values, strict=True)),
               seed)
        for seed in sweep.seeds
        for scenario in sweep.scenarios
        for method in sweep.methods
        for values in itertools.product(*method.grid.values())
    ]
    for name, number in Counter(t.name for t in trials).items():
        need(number == 1, f'{name} occurs {number} times in the sweep: take '
             'the repeated seed, scenario or value out.')
    return trials


def _trial(method: Method, scenario: Mapping, setting: dict,
           seed: int) -> Trial:
    # steps of one's own are told by their name
    label = '-'.join(str(value) for value in scenario.values()
                     if value is not True and not is_list(value))
    parts = [method.name, label, setting_label(setting)]
    name = _slug('_'.join(part for part in parts if part))
    options = {
        **method.options,
        **{f'scenario.{key}': value for key, value in scenario.items()},
        'randomness.seed': seed,
        'experiment_name': name,
    }
    return Trial(f'{name}_seed{seed}', method, label, setting, seed, options)


def setting_label(setting: Mapping) -> str:
    """A setting in few letters: the last words of its keys, and values."""
    return ','.join(f'{_short(key, setting)}={_text(value)}'
                    for key, value in setting.items())


def _short(key: str, others: Mapping) -> str:
    """As many of the last words of a key as tell it from the others."""
    words = key.split('.')
    for number in range(1, len(words)):
        tail = '.'.join(words[-number:])
        if sum(f'.{k}'.endswith(f'.{tail}') for k in others) == 1:
            return tail
    return key


def _text(value: object) -> str:
    if isinstance(value, float) and float(f'{value:g}') == value:
        return f'{value:g}'
    return str(value) if isinstance(value, (str, int, float)) else \
        json.dumps(value, default=str)


def _slug(text: str) -> str:
    """Letters that every file system takes; what is changed is hashed."""
    plain = re.sub(r'[^\w.,=+-]+', '-', text)
    if plain == text and len(text) <= LONGEST:
        return text
    mark = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f'{plain[:LONGEST]}-{mark}'


def trial_config(trial: Trial, folder: Path) -> Config:
    """The whole config of a trial; its grid varies known keys only."""
    args = argparse.Namespace(
        config=trial.method.config,
        cfg_options=trial.options,
        work_dir=str(folder))
    keys = list(_keys(load_config(args).to_dict()))
    for key in trial.setting:
        if key not in keys:
            raise ConfigError(
                f'The grid varies {key!r}, which {trial.method.config} does '
                f'not have{near(key, keys)}. If it is meant to be new, give '
                'it a value in cfg_options first.')
    args.cfg_options = {**trial.options, **trial.setting}
    return load_config(args)


def _keys(cfg: object, before: str = '') -> Iterator[str]:
    """All dotted keys, the places in lists too.

    What a row of a table holds stands at the table's place.
    """
    if isinstance(cfg, (list, tuple)):
        cfg = dict(enumerate(cfg))
    for key, value in cfg.items() if isinstance(cfg, Mapping) else ():
        if key == TABLE:
            for row in value.values():
                yield from _keys(row, before)
            continue
        yield f'{before}{key}'
        yield from _keys(value, f'{before}{key}.')


def check_trial(cfg: Config, select: str | None) -> dict[int, int]:
    """Check parts, data and selection; return the iterations by step."""
    runner = ContinualRunner(cfg)
    problem = runner.scenario.problem
    need(not select or SELECT[select] == problem,
         f'select is {select!r}, but the problem is {problem}.')
    need(not select or (cfg.get('heldout') or {}).get('ratio'),
         'select needs scores on a held-out slice: set heldout.ratio above '
         '0, such as 0.1.')
    check_start_files(cfg)
    init_default_scope(cfg.get('default_scope', 'mmseg'))
    with input_errors('data'):
        return plan_steps(cfg, runner.scenario, runner.steps).iterations


def first_step_key(cfg: Config) -> str | None:
    """12 hex digits, equal for trials that train the same weights at step 0.

    The configs of that step are then equal but for places, for later steps of
    the scenario, and for hooks that only measure when a step is done
    (``trains_first_step = False``). None if step 0 is not trained, or hands on
    more than its weights.
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


def plan_work(keys: Mapping[str, str | None], steps: Mapping[str, int],
              finished: Sequence[str]) -> Work:
    """Decide what to run, and who shares a step 0.

    ``keys`` are those of :func:`first_step_key` by trial, ``steps`` the number
    of recorded ones by trial and by key. A step 0 that is finished is handed
    to all that need it; else, if two or more do, it is trained once.
    """
    todo = [name for name in keys if name not in finished]
    needed: dict = {}
    for name in todo:
        if keys[name] is not None and not steps.get(name):
            needed.setdefault(keys[name], []).append(name)
    first_steps, start_from = {}, {}
    for key, names in needed.items():
        done = [n for n in (*keys, key)
                if keys.get(n, n) == key and steps.get(n)]
        if not done and len(names) == 1:
            continue
        if not done:
            first_steps[key] = names[0]
        start_from.update(dict.fromkeys(names, done[0] if done else key))
    return Work(todo, first_steps, start_from)


def borrow_first_steps(trials: Sequence[Trial],
                       keys: Mapping[str, str | None]) -> dict:
    """Give trials whose method names a ``step_0`` that method's key."""
    found = dict(keys)
    for trial in trials:
        lender = trial.method.step_0
        if lender is None:
            continue
        offers = {keys[other.name] for other in trials
                  if other.method.name == lender and other.seed == trial.seed
                  and other.scenario == trial.scenario}
        need(len(offers) == 1 and None not in offers,
             f'methods.{trial.method.name}.step_0 is {lender!r}, which has '
             f'{len(offers - {None})} different ones for {trial.name}: name a '
             'method that trains one step 0.')
        found[trial.name] = offers.pop()
    return found
