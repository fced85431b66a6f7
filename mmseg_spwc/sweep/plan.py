"""Which trials a sweep has, which are done, which share a step 0.

Pure functions: they read no file and know nothing of Ray.
"""
import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.utils.options import is_list

from .sweep_file import Method, Sweep

LONGEST = 150  # letters of a name; file systems take 255


@dataclass(frozen=True)
class Trial:
    """One run of a sweep.

    Args:
        name (str): Name of its folder; no two trials have the same.
        method (Method): What is trained.
        scenario (str): What to call the scenario, '' for the config's own.
        setting (dict): The values of the grid's keys.
        seed (int): The seed.
        options (dict): Overrides of the config, without the setting's.
    """
    name: str
    method: Method
    scenario: str
    setting: dict
    seed: int
    options: dict

    @property
    def group(self) -> str:
        """Name of the trials that differ in their seed only."""
        return self.name.removesuffix(f'_seed{self.seed}')


def plan_trials(sweep: Sweep) -> list[Trial]:
    """Return all trials; those of the first seed come first.

    Raises:
        ConfigError: If two of them are the same.
    """
    trials = [
        _trial(method, scenario, setting, seed)
        for seed in sweep.seeds
        for scenario in sweep.scenarios
        for method in sweep.methods
        for setting in _settings(method.grid)
    ]
    for name, number in Counter(t.name for t in trials).items():
        if number > 1:
            raise ConfigError(f'{name} occurs {number} times in the sweep: '
                              'take the repeated seed, scenario or value '
                              'out.')
    return trials


def _settings(grid: Mapping) -> list[dict]:
    return [dict(zip(grid, values, strict=True))
            for values in itertools.product(*grid.values())]


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


@dataclass(frozen=True)
class Work:
    """What is still to do.

    Args:
        trials (list[str]): Trials that are not finished.
        first_steps (dict): For every step 0 to be trained once for several
            trials, its key and the trial whose config trains it.
        start_from (dict): By trial that takes its step 0 from elsewhere, the
            name of the finished trial, or the key of the shared step 0.
    """
    trials: list
    first_steps: dict
    start_from: dict


def plan_work(keys: Mapping[str, str | None], steps: Mapping[str, int],
              finished: Sequence[str]) -> Work:
    """Decide what to run, and who shares a step 0.

    Trials with equal keys train the same step 0. One that a trial or an
    earlier start of the sweep has finished is handed to all that need it;
    else, if two or more need it, it is trained once on its own.

    Args:
        keys (Mapping): By trial, in order, what its step 0 is; None where it
            has none or trains its own.
        steps (Mapping): By trial and by key, the number of recorded steps;
            0 where nothing is recorded.
        finished (Sequence[str]): The trials that are done.

    Returns:
        Work: The rest.
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
    """Give trials whose method names a ``step_0`` that method's key.

    Args:
        trials (Sequence[Trial]): All of them.
        keys (Mapping): What each would train itself.

    Raises:
        ConfigError: If there is not exactly one such step 0.
    """
    found = dict(keys)
    for trial in trials:
        lender = trial.method.step_0
        if lender is None:
            continue
        offers = {
            keys[other.name] for other in trials
            if other.method.name == lender and other.seed == trial.seed
            and other.scenario == trial.scenario
        }
        if len(offers) != 1 or None in offers:
            raise ConfigError(
                f'methods.{trial.method.name}.step_0 is {lender!r}, which '
                f'has {len(offers - {None})} different ones for '
                f'{trial.name}: name a method that trains one step 0.')
        found[trial.name] = offers.pop()
    return found
