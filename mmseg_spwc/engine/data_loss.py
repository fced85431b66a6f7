"""Data that get lost while a step is trained."""
import contextlib
from collections.abc import Iterator

from mmseg_spwc.datasets.sample_error import SampleError

from .stops import RunStopped

KEPT = 'The last checkpoint is kept: go on with --resume.'
WORKER_DIED = 'DataLoader worker (pid'  # how torch's messages begin


class DataLost(RunStopped):
    """A sample cannot be made, or the process that makes it is gone."""

    exit_code = 2


@contextlib.contextmanager
def data_losses() -> Iterator[None]:
    """Say in one sentence which file or worker was lost in a block."""
    try:
        yield
    except SampleError as error:
        # torch puts a worker's traceback in front of the message
        text = str(error).rpartition(f'{SampleError.__name__}: ')[2]
        raise DataLost(f'{text.strip()} {KEPT}') from error
    except RuntimeError as error:
        if WORKER_DIED not in str(error):
            raise
        raise DataLost(
            f'A worker that loads data died ({error}). It may have run out '
            'of memory, or of shared memory in a container (--shm-size): use '
            f'fewer train_dataloader.num_workers. {KEPT}') from error
