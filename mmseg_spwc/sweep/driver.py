"""Runs a prepared sweep on Ray: this machine's own, or a cluster's."""
import contextlib
import os
import pprint
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from mmengine.config import Config
from packaging.version import Version
from rich.console import Console

from mmseg_spwc.cli import MIM
from mmseg_spwc.config.step import checkpoint_path
from mmseg_spwc.errors import (
    NO_ROOM,
    ConfigError,
    Preempted,
    RecordError,
    StorageError,
)
from mmseg_spwc.utils.files import write_text

from . import trial_process
from .aggregate import (
    aggregate,
    describe_run,
    held_out_score,
    write_aggregate,
)
from .board import Board, Row
from .estimate import duration, seconds_per_iteration, slots, trial_seconds
from .plan import Plan, is_finished, read_record
from .sweep_file import Sweep

# before Ray is imported, which reads it once: nobody on the network may join
os.environ.setdefault('RAY_AUTH_MODE', 'token')
try:
    import ray
except ImportError:
    ray = None

FLOOR = '2.60'  # asks everybody who joins a cluster for the token
ANSWER = 30  # seconds that a cluster has for an answer
STORE = 128 * 2**20  # bytes of shared memory: only names go through it
PAUSE = 1.  # seconds between two looks


def require_ray() -> None:
    """Raise :class:`ConfigError` where Ray is not installed, or is old."""
    found = ray and ray.__version__
    if not found or Version(found) < Version(FLOOR):
        raise ConfigError(
            f'Sweeps run on Ray, which is {found or "not installed"}: pip '
            f"install 'ray>={FLOOR}', or pip install -e .[ray].")


@contextlib.contextmanager
def connected(address: str | None = None, cpus: int | None = None,
              gpus: int | None = None) -> Iterator[None]:
    """Use a Ray cluster, ``auto`` or ``host:port``, for the time of a block.

    Without an address Ray is started on this machine, with all its CPUs and
    GPUs unless told otherwise.
    """
    options = dict(log_to_driver=False, logging_level='ERROR')
    if address is None:
        os.environ.setdefault('RAY_USAGE_STATS_ENABLED', '0')
        options.update(address='local', num_cpus=cpus, num_gpus=gpus,
                       include_dashboard=False, object_store_memory=STORE,
                       _node_ip_address='127.0.0.1')
    else:
        check_answers(address)
        options.update(address=address)
    ray.init(**options)
    # a worker then need not import this package, and torch with it
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


def run_sweep(plan: Plan, console: Console) -> list[Row]:
    """Run what is left to do, and keep ``sweep.json`` up to date."""
    check_resources(plan.sweep.cpus, plan.sweep.gpus)
    running = Running(plan, console)
    with _full_disks():
        write_aggregate(running.aggregate(), plan.folder)
        # what Ray prints would tear the table apart
        with (plan.folder / 'ray.log').open('a') as log, \
                contextlib.redirect_stdout(log), _interruptions(), \
                running.board:
            try:
                running.submit()
                while running.refs:
                    running.look()
            except KeyboardInterrupt:
                running.stop()
                raise Preempted(
                    'The sweep was asked to stop; running trials have saved '
                    'where they are. Run the same command to go on.'
                ) from None
            except (OSError, StorageError):
                running.stop()
                raise
    return running.board.rows


@contextlib.contextmanager
def _full_disks() -> Iterator[None]:
    """Say what to do where the driver itself cannot write."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise StorageError(
            f'Cannot write {error.filename}: {error.strerror}. Make room and '
            'run the same command to go on.') from error


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


class Running:
    """A sweep that runs: what Ray works on, and how far it is."""

    def __init__(self, plan: Plan, console: Console) -> None:
        self.plan = plan
        self.records: dict = {}
        self.refs: dict = {}
        self.folders = {
            **{_step_0(key): plan.folder_of(key)
               for key in plan.work.first_steps},
            **{name: plan.folder_of(name) for name in plan.configs}
        }
        self.before = {name: self._attempts(name) for name in self.folders}
        self.rows = {name: Row(name, total=len(plan.iterations.get(name, [0])))
                     for name in self.folders}
        for name in self.folders:
            self._renew(name)
        self.board = Board(list(self.rows.values()),
                           plan.sweep.select or 'held-out', console)

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
            job = make_job(cfg, self.folders[_step_0(key)], sweep)
            first[key] = run.options(name=_step_0(key)).remote(job)
            self.refs[first[key]] = _step_0(key)
        for name in work.trials:
            cfg = self.plan.configs[name].copy()
            source = work.start_from.get(name)
            if source is not None:
                cfg.start_from = checkpoint_path(
                    str(self.plan.folder_of(source)), 0)
            job = make_job(cfg, self.folders[name], sweep)
            ref = run.options(name=name).remote(job, first.get(source))
            self.refs[ref] = name

    def look(self) -> None:
        """See what has changed, and tell it."""
        ready, _ = ray.wait(list(self.refs), timeout=PAUSE)
        for name in self.refs.values():
            self._renew(name)
        for ref in ready:
            name = self.refs.pop(ref)
            self._finish(name, _outcome(ref, name))
        self.board.left = self._time_left()
        self.board.tell()
        if ready:
            write_aggregate(self.aggregate(), self.plan.folder)

    def _renew(self, name: str) -> None:
        row = self.rows[name]
        with contextlib.suppress(RecordError):
            self.records[name] = read_record(self.folders[name])
        record = self.records.setdefault(name)
        row.done = len(record.steps) if record else 0
        row.score = held_out_score(record)
        row.attempt = self._attempts(name) - self.before[name]
        if row.attempt:
            row.state = 'running'
        elif is_finished(record):
            row.state = 'finished'

    def _attempts(self, name: str) -> int:
        path = self.folders[name] / trial_process.ATTEMPTS
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
        iterations = self.plan.iterations
        methods = {t.name: t.method.name for t in self.plan.trials}
        known = {name: self.records[name] for name in methods}
        speeds = seconds_per_iteration(known, iterations, methods)
        if not speeds or not self.refs:
            return ''
        seconds = sum(
            trial_seconds(iterations[name],
                          speeds.get(methods[name], speeds[None]),
                          known[name].finished_steps if known[name] else [])
            for name in self.refs.values() if name in known)
        have = ray.cluster_resources()
        at_once = slots(self.plan.sweep, have.get('CPU', 0),
                        have.get('GPU', 0))
        return f', about {duration(seconds / at_once)} left'

    def aggregate(self) -> dict:
        """The content of ``sweep.json`` as things stand."""
        runs = [dict(name=t.name, group=t.group, method=t.method.name,
                     scenario=t.scenario, setting=t.setting, seed=t.seed,
                     folder=f'trials/{t.name}',
                     **describe_run(self.records[t.name]),
                     attempts=self._attempts(t.name),
                     reason=self.rows[t.name].reason)
                for t in self.plan.trials]
        return aggregate(self.plan.sweep.name, self.plan.sweep.select, runs,
                         self.plan.sweep.paper)

    def stop(self) -> None:
        """Ask what runs to stop, and wait until it has."""
        for ref in self.refs:
            ray.cancel(ref)
        ray.wait(list(self.refs), num_returns=len(self.refs),
                 timeout=trial_process.LONGEST_WAIT)


def _step_0(key: str) -> str:
    """What the board calls a shared step 0."""
    return f'step 0 {key}'


def _outcome(ref, name: str) -> str | None:
    """Why a trial failed; None if it did not."""
    try:
        return ray.get(ref)
    except ray.exceptions.RayTaskError as error:
        if getattr(error.cause, 'errno', None) in NO_ROOM:
            raise StorageError(
                f'{name}: {error.cause.strerror} The sweep has stopped; make '
                'room and run the same command to go on.') from error
        return str(error.cause)
    except ray.exceptions.RayError as error:
        return str(error).strip().partition('\n')[0]


def make_job(cfg: Config, folder: Path, sweep: Sweep) -> dict:
    """Write the config of a trial; return what its process needs.

    A trial with several GPUs gets one process for each of them.
    """
    folder = folder.absolute()
    cfg.work_dir = str(folder)
    given = cfg.get('start_from')
    if isinstance(given, Mapping):
        given.checkpoint = os.path.abspath(given.checkpoint)
    elif given:
        cfg.start_from = os.path.abspath(given)
    write_config(cfg, folder / 'config.py')
    processes = max(int(sweep.gpus), 1)
    command = [str(MIM / 'tools' / 'train.py'), str(folder / 'config.py'),
               '--resume']
    if processes > 1:
        command = ['-m', 'torch.distributed.run', '--standalone',
                   f'--nproc_per_node={processes}', *command,
                   '--launcher', 'pytorch']
    own = {k: v for k, v in os.environ.items()
           if k.startswith('MMSEG_SPWC_')}
    threads = max(int(sweep.cpus / processes), 1)
    return dict(folder=str(folder), command=command, cwd=os.getcwd(),
                env=dict(own, OMP_NUM_THREADS=str(threads)))


def write_config(cfg: Config, path: Path) -> None:
    """Write a config as a file that ``tools/train.py`` takes."""
    lines = [f'{key} = {pprint.pformat(value, width=79, sort_dicts=False)}'
             for key, value in cfg.to_dict().items()]
    write_text(path, '\n'.join(lines) + '\n')
