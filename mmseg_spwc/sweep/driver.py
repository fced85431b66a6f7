"""Runs a prepared sweep on Ray."""
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from mmseg_spwc.cli import MIM
from mmseg_spwc.errors import (
    ConfigError,
    Preempted,
    RecordError,
    StorageError,
)

from . import trial_process
from .aggregate import (
    aggregate,
    describe_run,
    held_out_score,
    write_aggregate,
)
from .board import Board, Row
from .estimate import duration, seconds_per_iteration, slots, trial_seconds
from .plan import Trial
from .prepare import Prepared, is_finished
from .trial_config import first_step_weights, read_record, write_config

try:
    import ray
except ImportError:
    ray = None

ANSWER = 30  # seconds that a Ray cluster has for an answer
PAUSE = 1.  # seconds between two looks
STORE = 128 * 2**20  # bytes of shared memory: only names go through it
NO_ROOM = 'Cannot write '  # how StorageError begins


def require_ray() -> None:
    """Raise :class:`ConfigError` where Ray is not installed."""
    if ray is None:
        raise ConfigError("Sweeps run on Ray, which is not installed: pip "
                          "install 'ray>=2.9', or pip install -e .[ray].")


@contextlib.contextmanager
def connected(address: str | None = None, cpus: int | None = None,
              gpus: int | None = None) -> Iterator[None]:
    """Use a Ray cluster, or one of this machine's own.

    Args:
        address (str, optional): ``auto`` or ``host:port`` of a cluster.
            Defaults to starting Ray on this machine for the time of the
            block.
        cpus (int, optional): CPUs that a Ray of this machine may use.
            Defaults to all.
        gpus (int, optional): GPUs that it may use. Defaults to all.

    Raises:
        ConfigError: If nobody answers at the address.
    """
    options = dict(log_to_driver=False, logging_level='ERROR')
    if address is None:
        os.environ.setdefault('RAY_USAGE_STATS_ENABLED', '0')
        options.update(address='local', num_cpus=cpus, num_gpus=gpus,
                       include_dashboard=False, object_store_memory=STORE)
    else:
        check_answers(address)
        options.update(address=address)
    ray.init(**options)
    ray.cloudpickle.register_pickle_by_value(trial_process)
    try:
        yield
    finally:
        ray.shutdown()


def check_answers(address: str) -> None:
    """Connect for a trial; Ray itself would try for minutes, then exit."""
    code = ('import ray, sys; ray.init(address=sys.argv[1], '
            "log_to_driver=False, logging_level='ERROR')")
    try:
        done = subprocess.run(
            [sys.executable, '-c', code, address], timeout=ANSWER,
            capture_output=True, text=True)
        reason = done.stderr.strip().rpartition('\n')[2]
    except subprocess.TimeoutExpired:
        done, reason = None, f'no answer in {ANSWER} seconds'
    if done is None or done.returncode:
        raise ConfigError(
            f'No Ray cluster answers at {address} ({reason}). Start one with '
            'ray start --head and give the address that it prints, or leave '
            '--address out to use this machine.')


def run_sweep(plan: Prepared, console: Console) -> list[Row]:
    """Run what is left to do, and keep ``sweep.json`` up to date.

    Args:
        plan (Prepared): The sweep.
        console (Console): Where to show it.

    Returns:
        list[Row]: How every trial ended.

    Raises:
        Preempted: If the sweep was asked to stop.
        StorageError: If the disk is full.
    """
    check_resources(plan.sweep.cpus, plan.sweep.gpus)
    run = _Running(plan, console)
    write_aggregate(run.aggregate(), plan.folder)
    with (plan.folder / 'ray.log').open('a') as log, \
            contextlib.redirect_stdout(log), \
            _interruptions(), run.board.shown():
        try:
            run.submit()
            while run.refs:
                run.look()
        except KeyboardInterrupt:
            run.stop()
            raise Preempted('The sweep was asked to stop; running trials '
                            'have saved where they are. Run the same command '
                            'to go on.') from None
        except StorageError:
            run.stop()
            raise
    return run.board.rows


def check_resources(cpus: float, gpus: float) -> None:
    """Refuse trials that no machine has room for."""
    nodes = [n['Resources'] for n in ray.nodes() if n['Alive']]
    if not any(n.get('CPU', 0) >= cpus and n.get('GPU', 0) >= gpus
               for n in nodes):
        have = '; '.join(f'{n.get("CPU", 0):g} CPUs and {n.get("GPU", 0):g} '
                         'GPUs' for n in nodes)
        raise ConfigError(
            f'A trial needs {cpus:g} CPUs and {gpus:g} GPUs, but the '
            f'machines of this Ray have {have}: lower resources, or add a '
            'machine.')


@contextlib.contextmanager
def _interruptions() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does; Ray sets a handler of its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _Running:
    """The state of a sweep that runs: what Ray has, and the board."""

    def __init__(self, plan: Prepared, console: Console) -> None:
        self.plan = plan
        self.records = dict(plan.records)
        self.refs: dict = {}
        self.starts = {name: self._attempts(name) for name in plan.configs}
        score = plan.sweep.select or 'held-out'
        self.board = Board([self._row(t) for t in plan.trials], score,
                           console)
        self.rows = {row.name: row for row in self.board.rows}

    def _row(self, trial: Trial) -> Row:
        record = self.records[trial.name]
        return Row(
            trial.name,
            total=len(self.plan.iterations[trial.name]),
            done=len(record.steps) if record else 0,
            state='finished' if is_finished(record) else 'waiting',
            score=held_out_score(record))

    def submit(self) -> None:
        """Hand everything to Ray, the shared first steps in front."""
        work, sweep = self.plan.work, self.plan.sweep
        run = ray.remote(
            num_cpus=sweep.cpus, num_gpus=sweep.gpus,
            max_retries=sweep.retries,
            retry_exceptions=[ChildProcessError])(trial_process.run_trial)
        first = {}
        for key, name in work.first_steps.items():
            cfg = self.plan.configs[name].copy()
            cfg.merge_from_dict({'method.run': 'first'})
            job = self._job(cfg, self.plan.first_step_folder(key))
            first[key] = run.options(name=f'step 0 {key}').remote(job)
        for name in work.trials:
            cfg = self.plan.configs[name].copy()
            source = work.start_from.get(name)
            if source is not None:
                cfg.start_from = first_step_weights(
                    self.plan.trial_folder(source)
                    if source in self.plan.configs else
                    self.plan.first_step_folder(source))
            job = self._job(cfg, self.plan.trial_folder(name))
            ref = run.options(name=name).remote(job, first.get(source))
            self.refs[ref] = name

    def _job(self, cfg, folder: Path) -> dict:
        folder = folder.absolute()
        cfg.work_dir = str(folder)
        if cfg.get('start_from'):
            cfg.start_from = os.path.abspath(cfg.start_from)
        write_config(cfg, folder / 'config.py')
        sweep = self.plan.sweep
        processes = max(int(sweep.gpus), 1)
        command = [str(MIM / 'tools' / 'train.py'),
                   str(folder / 'config.py'), '--resume']
        if processes > 1:
            command = ['-m', 'torch.distributed.run', '--standalone',
                       f'--nproc_per_node={processes}', *command,
                       '--launcher', 'pytorch']
        threads = max(int(sweep.cpus / processes), 1)
        own = {k: v for k, v in os.environ.items()
               if k.startswith('MMSEG_SPWC_')}
        return dict(folder=str(folder), command=command, cwd=os.getcwd(),
                    env=dict(own, OMP_NUM_THREADS=str(threads)))

    def look(self) -> None:
        """See what has changed, and tell it."""
        ready, _ = ray.wait(list(self.refs), timeout=PAUSE)
        for name in self.refs.values():
            self._renew(name)
        for ref in ready:
            self._finish(self.refs.pop(ref), _outcome(ref))
        self.board.left = self._time_left()
        self.board.update()
        if ready:
            write_aggregate(self.aggregate(), self.plan.folder)
        for row in self.board.rows:
            if row.reason.startswith(NO_ROOM):
                raise StorageError(
                    f'{row.name}: {row.reason.partition(" Make room")[0]} '
                    'The sweep has stopped; make room and run the same '
                    'command to go on.')

    def _renew(self, name: str) -> None:
        row = self.rows[name]
        with contextlib.suppress(RecordError):
            self.records[name] = read_record(self.plan.trial_folder(name))
        record = self.records[name]
        row.done = len(record.steps) if record else 0
        row.score = held_out_score(record)
        row.attempt = self._attempts(name) - self.starts[name]
        if row.attempt:
            row.state = 'running'

    def _attempts(self, name: str) -> int:
        path = self.plan.trial_folder(name) / trial_process.ATTEMPTS
        try:
            return len(path.read_text().splitlines())
        except OSError:
            return 0

    def _finish(self, name: str, reason: str | None) -> None:
        row = self.rows[name]
        self._renew(name)
        if reason is None and not is_finished(self.records[name]):
            reason = 'it ended without a finished record'
        row.state = 'finished' if reason is None else 'failed'
        row.reason = reason or ''

    def _time_left(self) -> str:
        methods = {t.name: t.method.name for t in self.plan.trials}
        speeds = seconds_per_iteration(
            self.records, self.plan.iterations, methods)
        if not speeds:
            return ''
        seconds = sum(
            trial_seconds(
                self.plan.iterations[name],
                speeds.get(methods[name], speeds[None]),
                self.records[name].finished_steps
                if self.records[name] else [])
            for name in self.refs.values())
        have = ray.cluster_resources()
        at_once = slots(self.plan.sweep, have.get('CPU', 0),
                        have.get('GPU', 0))
        return f', about {duration(seconds / at_once)} left'

    def aggregate(self) -> dict:
        """The content of ``sweep.json`` as things stand."""
        runs = [
            dict(name=t.name, group=t.group, method=t.method.name,
                 scenario=t.scenario, setting=t.setting, seed=t.seed,
                 folder=f'trials/{t.name}',
                 **describe_run(self.records[t.name]),
                 attempts=self._attempts(t.name),
                 reason=self.rows[t.name].reason)
            for t in self.plan.trials
        ]
        return aggregate(self.plan.sweep.name, self.plan.sweep.select, runs)

    def stop(self) -> None:
        """Ask what runs to stop, and wait until it has."""
        for ref in self.refs:
            ray.cancel(ref)
        ray.wait(list(self.refs), num_returns=len(self.refs),
                 timeout=trial_process.PATIENCE)


def _outcome(ref) -> str | None:
    """Why a trial failed; None if it did not."""
    try:
        return ray.get(ref)
    except ray.exceptions.RayTaskError as error:
        return str(error.cause)
    except ray.exceptions.RayError as error:
        return str(error).strip().partition('\n')[0]
