"""The Ray that a sweep runs on: this machine's own, or a cluster."""
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

from packaging.version import Version

from mmseg_spwc.errors import ConfigError

from . import trial_process

# before Ray is imported, which reads it once: nobody on the network may join
os.environ.setdefault('RAY_AUTH_MODE', 'token')
try:
    import ray
except ImportError:
    ray = None

FLOOR = '2.60'  # asks everybody who joins a cluster for the token
ANSWER = 30  # seconds that a cluster has for an answer
STORE = 128 * 2**20  # bytes of shared memory: only names go through it


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
