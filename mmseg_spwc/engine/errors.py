"""Errors that a user can mend, shown as one sentence."""
import contextlib
import os
import sys
from collections.abc import Iterator

from mmseg_spwc.record import RecordError

from .checkpoint import CheckpointError
from .config_keys import ConfigError
from .stops import NO_ROOM, RunStopped, StorageError


@contextlib.contextmanager
def user_errors() -> Iterator[None]:
    """Show errors of the input without a traceback, and exit.

    The exit code is 2 for bad input and for a full disk, 3 for a loss or
    gradient that is not finite, 4 for processes that disagree and 75 for a
    run that was asked to stop and can be resumed.

    Set ``MMSEG_SPWC_DEBUG=1`` to see the traceback.
    """
    try:
        yield
    except (ConfigError, CheckpointError, RecordError) as error:
        _exit(error, 2)
    except RunStopped as error:
        _exit(error, error.exit_code)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        _exit(StorageError.of(error), StorageError.exit_code)


def _exit(error: Exception, code: int) -> None:
    if os.environ.get('MMSEG_SPWC_DEBUG'):
        raise error
    print(f'error: {error}', file=sys.stderr, flush=True)
    sys.exit(code)
