"""What a sweep would do, and how long it takes: iterations times seconds."""
import copy
import itertools
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence

import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmengine.runner import Runner

from mmseg_spwc.config.step import step_config
from mmseg_spwc.engine.footprint import memory_sentence
from mmseg_spwc.engine.sequence import ContinualRunner
from mmseg_spwc.engine.step_runner import StepRunner
from mmseg_spwc.record import Record
from mmseg_spwc.visualization.scores import spread

from .plan import Plan
from .sweep_file import Sweep

START = 10.  # seconds until a process has begun to train, roughly
TIMED = 20  # iterations that are timed at most
LONGEST = 30.  # seconds for them, about


def describe(plan: Plan, cpus: int | None = None,
             gpus: int | None = None) -> str:
    """List the trials with an estimate of their time.

    Speeds are those of finished steps; before there are any, a few iterations
    of step 0 are timed on this machine. By default it may use all of it.
    """
    work, iterations = plan.work, plan.iterations
    methods = {t.name: t.method.name for t in plan.trials}
    speeds = seconds_per_iteration(plan.records, iterations, methods)
    source = 'from the steps that are done'
    if not speeds and work.trials:
        speeds[None] = time_iterations(plan.configs[work.trials[0]])
        source = ('from a few iterations of step 0, timed here; later steps '
                  'may take longer')

    def seconds(name: str, done: Sequence[int]) -> float:
        return trial_seconds(iterations[name],
                             speeds.get(methods[name], speeds[None]), done)

    rows = [(f'step 0 {key}', 'shared',
             seconds(name, [s for s in iterations[name] if s]))
            for key, name in work.first_steps.items()]
    for name in methods:
        if name not in work.trials:
            rows.append((name, 'finished', None))
            continue
        done, shared = plan.done(name), work.start_from.get(name)
        remark = f'step 0 of {shared}' if shared else (
            f'step {len(done)} on' if done else '')
        rows.append((name, remark, seconds(name, done)))
    total = sum(row[2] or 0. for row in rows)
    at_once = slots(plan.sweep, cpus or os.cpu_count() or 1,
                    torch.cuda.device_count() if gpus is None else gpus)
    width, middle = (max(len(row[i]) for row in rows) for i in (0, 1))
    lines = [f'{name:{width}}  {remark:{middle}}  '
             f'{"" if left is None else duration(left):>8}'.rstrip()
             for name, remark, left in rows]
    return '\n'.join([
        *lines, '',
        f'{len(work.trials)} of {len(plan.trials)} trials to run, '
        f'{at_once} at a time on this machine: about '
        f'{duration(total / at_once)} ({source})'
    ])


def memory_of_gpus(plan: Plan) -> str:
    """A line for each method and scenario; none for trials without GPUs."""
    first: dict = {}
    for trial in plan.trials if plan.sweep.gpus else ():
        first.setdefault((trial.method.name, trial.scenario), trial.name)
    return '\n'.join(
        f'{f"{method} {scenario}".strip()}: ' + memory_sentence(
            plan.configs[name], max(int(plan.sweep.gpus), 1))
        for (method, scenario), name in first.items())


def seconds_per_iteration(records: Mapping[str, Record | None],
                          iterations: Mapping[str, Mapping[int, int]],
                          methods: Mapping[str, str]) -> dict:
    """Means over finished steps by method, and under None over all.

    Step 0 counts only where there is no other: it may have been taken from
    elsewhere, and has no second network.
    """
    found: dict = {}
    for name, record in records.items():
        steps = [] if record is None else record.steps
        steps = [s for s in steps if s['step'] > 0] or steps
        for step in steps:
            speed = step['cost']['wall_time'] / iterations[name][step['step']]
            for key in (methods[name], None):
                found.setdefault(key, []).append(speed)
    return {key: spread(values).mean for key, values in found.items()}


def trial_seconds(iterations: Mapping[int, int], speed: float,
                  done: Sequence[int] = ()) -> float:
    """Seconds of the steps that are not done, scoring included."""
    left = sum(n for step, n in iterations.items() if step not in done)
    return START + speed * left


def slots(sweep: Sweep, cpus: float, gpus: float) -> int:
    """How many trials run at the same time, given what there is."""
    fits = [cpus / sweep.cpus]
    if sweep.gpus:
        fits.append(gpus / sweep.gpus)
    return max(int(min(fits)), 1)


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    for limit, size, unit in ((90, 1, 's'), (5400, 60, 'min')):
        if seconds < limit:
            return f'{seconds / size:.0f} {unit}'
    return f'{seconds / 3600:.1f} h'


def time_iterations(cfg: Config) -> float:
    """Train a few iterations of step 0 here; return the seconds of one."""
    cfg = copy.deepcopy(cfg)
    with tempfile.TemporaryDirectory() as folder:
        cfg.work_dir = folder
        cfg.log_level = 'ERROR'
        cfg.visualizer = None
        runner = ContinualRunner(cfg)
        init_default_scope(cfg.get('default_scope', 'mmseg'))
        step = StepRunner.from_cfg(
            step_config(cfg, runner.scenario, runner.steps[0]))
        times = list(_times(step))
        step.release()
    return sum(times) / len(times)


def _times(runner: Runner) -> Iterator[float]:
    loader = runner.build_dataloader(runner.cfg.train_dataloader)
    wrapper = runner.build_optim_wrapper(runner.cfg.optim_wrapper)
    runner.model.train()
    begin = last = time.monotonic()
    endless = itertools.chain.from_iterable(itertools.repeat(loader))
    for number, batch in enumerate(endless):
        runner.model.train_step(batch, wrapper)
        now = time.monotonic()
        late = now - begin > LONGEST
        if number > 1 or late:  # the first ones warm up
            yield now - last
        last = now
        if late or number >= TIMED:
            return
