"""How long a sweep will take: iterations times seconds of one."""
import copy
import itertools
import tempfile
import time
from collections.abc import Mapping, Sequence

from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmengine.runner import Runner

from mmseg_spwc.engine.sequence import ContinualRunner
from mmseg_spwc.engine.step_config import step_config
from mmseg_spwc.engine.step_runner import StepRunner
from mmseg_spwc.record import Record
from mmseg_spwc.visualization.scores import spread

from .sweep_file import Sweep

START = 10.  # seconds until a process has begun to train, roughly
TIMED = 20  # iterations that are timed at most
LONGEST = 30.  # seconds for them, about


def seconds_per_iteration(records: Mapping[str, Record | None],
                          iterations: Mapping[str, Mapping[int, int]],
                          methods: Mapping[str, str]) -> dict:
    """What finished steps tell: by method, and under None over all.

    Step 0 is left out where there are others: it may have been taken from
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


def _times(runner: Runner):
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
