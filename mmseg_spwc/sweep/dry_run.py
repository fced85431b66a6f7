"""What a sweep would do, and how long it would take."""
import os

import torch

from .estimate import (
    duration,
    seconds_per_iteration,
    slots,
    time_iterations,
    trial_seconds,
)
from .prepare import Prepared


def describe(plan: Prepared, cpus: int | None = None,
             gpus: int | None = None) -> str:
    """List the trials with an estimate of their time.

    Speeds are those of steps that the sweep has finished; before there are
    any, a few iterations of step 0 are timed on this machine.

    Args:
        plan (Prepared): The sweep.
        cpus (int, optional): CPUs that it may use. Defaults to all.
        gpus (int, optional): GPUs that it may use. Defaults to all.

    Returns:
        str: Several lines.
    """
    methods = {t.name: t.method.name for t in plan.trials}
    speeds = seconds_per_iteration(plan.records, plan.iterations, methods)
    source = 'from the steps that are done'
    if not speeds and plan.work.trials:
        speeds[None] = time_iterations(plan.configs[plan.work.trials[0]])
        source = ('from a few iterations of step 0, timed here; later steps '
                  'may take longer')
    lines, total = [], 0.
    for key, name in plan.work.first_steps.items():
        seconds = trial_seconds({0: plan.iterations[name][0]},
                                speeds.get(methods[name], speeds[None]))
        total += seconds
        lines.append(_line(f'step 0 {key}', 'shared', seconds))
    for trial in plan.trials:
        name = trial.name
        if name not in plan.work.trials:
            lines.append(_line(name, 'finished', None))
            continue
        done = _done(plan, name)
        seconds = trial_seconds(plan.iterations[name],
                                speeds.get(methods[name], speeds[None]), done)
        total += seconds
        shared = plan.work.start_from.get(name)
        lines.append(_line(
            name, f'step 0 of {shared}' if shared else
            f'step {len(done)} on' if done else '', seconds))
    at_once = slots(plan.sweep, cpus or os.cpu_count() or 1,
                    torch.cuda.device_count() if gpus is None else gpus)
    width = max(len(line[0]) for line in lines)
    middle = max(len(line[1]) for line in lines)
    text = [f'{a:{width}}  {b:{middle}}  {c:>8}'.rstrip()
            for a, b, c in lines]
    return '\n'.join([
        *text, '',
        f'{len(plan.work.trials)} of {len(plan.trials)} trials to run, '
        f'{at_once} at a time on this machine: about '
        f'{duration(total / at_once)} ({source})'
    ])


def _done(plan: Prepared, name: str) -> list[int]:
    """Steps that a trial need not train."""
    if name in plan.work.start_from:
        return [0]
    record = plan.records[name]
    return record.finished_steps if record else []


def _line(name: str, remark: str, seconds: float | None) -> tuple:
    return name, remark, '' if seconds is None else duration(seconds)
