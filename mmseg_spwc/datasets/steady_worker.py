"""Data-loading workers that outlive the signal which ends a job."""
import signal

from mmengine.dataset import worker_init_fn
from mmengine.dist import get_rank

from mmseg_spwc.registry import FUNCTIONS


@FUNCTIONS.register_module()
def steady_worker_init(worker_id: int, num_workers: int, seed: int,
                       **options) -> None:
    """Seed a worker as MMEngine does, and let it survive one SIGTERM.

    Schedulers and ``torchrun`` send SIGTERM to all processes of a job. If its
    workers died at once, a run could not finish its iteration and save it.
    They go when their loader does, or with a second SIGTERM.

    Args:
        worker_id (int): Number of the worker.
        num_workers (int): How many there are.
        seed (int): The step's seed.
        **options: Others of MMEngine's ``worker_init_fn``.
    """
    worker_init_fn(worker_id, num_workers, get_rank(), seed, **options)
    signal.signal(
        signal.SIGTERM,
        lambda number, frame: signal.signal(number, signal.SIG_DFL))
