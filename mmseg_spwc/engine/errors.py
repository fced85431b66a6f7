"""Errors that a user can mend, shown as one sentence."""
import contextlib
import os
import sys
from collections.abc import Iterator

from mmseg_spwc.record import RecordError

from .checkpoint import CheckpointError
from .config_keys import ConfigError


@contextlib.contextmanager
def user_errors() -> Iterator[None]:
    """Show errors of the input without a traceback, and exit with 2.

    Set ``MMSEG_SPWC_DEBUG=1`` to see the traceback.
    """
    try:
        yield
    except (ConfigError, CheckpointError, RecordError) as error:
        if os.environ.get('MMSEG_SPWC_DEBUG'):
            raise
        print(f'error: {error}', file=sys.stderr)
        sys.exit(2)
