"""Everything that can go wrong for a user, and how it is said.

Every message says what is wrong and what to do. The blocks below turn
errors of the input, of lost data and of full disks into these, and
:func:`user_errors` shows them as one sentence with an exit code.
"""
from __future__ import annotations  # let an old Python reach the check

import contextlib
import errno
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping

# what a full or read-only disk, a used-up quota or a size limit report
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
# ends a sentence on missing data
WHERE = ('set data_root to the folder that holds it, or MMSEG_SPWC_DATA to '
         'the folder of all datasets; data/README.md shows what goes where.')
KEPT = 'The last checkpoint is kept: go on with --resume.'
RESUME = ('Make room and go on with --resume; finished steps and the last '
          'checkpoint are intact.')
WORKER_DIED = 'DataLoader worker (pid'  # how torch's messages begin
HANDS_OVER = 'multiprocessing.resource_sharer'  # fetches a worker's tensors


class StackError(ImportError):
    """A package is missing or unsupported; the message holds the remedy."""


class ConfigError(ValueError):
    """A config is wrong; the message says where and what to do."""


class CheckpointError(ValueError):
    """A checkpoint does not fit; the message says why and what to do."""


class RecordError(ValueError):
    """A record cannot be read; the message says why and what to do."""


class SampleError(RuntimeError):
    """A sample cannot be made; the message names its files."""


class RunStopped(RuntimeError):
    """A run ended before its time; the message says why and what to do."""

    exit_code = 1


class StorageError(RunStopped):
    """A file could not be written; those before are intact (EX_IOERR)."""

    exit_code = 74

    @classmethod
    def of(cls, error: OSError, advice: str = RESUME) -> StorageError:
        place = error.filename or 'a file of the run'
        return cls(f'Cannot write {place}: {error.strerror}. {advice}')


class DataLost(RunStopped):
    """A sample cannot be made, or the process that makes it is gone."""

    exit_code = 2


class NonFiniteError(RunStopped):
    """A loss or gradient is NaN or infinite."""

    exit_code = 3


class Disagreement(RunStopped):
    """Processes that must hold the same values hold different ones."""

    exit_code = 4


class Preempted(RunStopped):
    """The run was asked to stop; it can be resumed (EX_TEMPFAIL)."""

    exit_code = 75


@contextlib.contextmanager
def input_errors(what: str) -> Iterator[None]:
    """Turn errors of the input in a block into :class:`ConfigError`."""
    try:
        yield
    except ConfigError:
        raise
    except AttributeError as error:
        if not isinstance(error.obj, Mapping):  # no config was asked
            raise
        raise ConfigError(f'{what}: {_missing(error.name)}') from error
    except (AssertionError, LookupError, OSError, TypeError, ValueError,
            pickle.UnpicklingError) as error:  # OpenMMLab's parts assert
        if getattr(error, 'errno', None) in NO_ROOM:
            raise
        raise ConfigError(f'{what}: {_reason(error)}') from error


def _reason(error: Exception) -> str:
    if not isinstance(error, KeyError):
        # an assertion without words: what it asserts
        return str(error) or traceback.extract_tb(
            error.__traceback__)[-1].line
    text = str(error.args[0])
    return _missing(text) if text.isidentifier() else text


def _missing(key: str) -> str:
    return f'the key {key!r} is missing; give it a value.'


@contextlib.contextmanager
def naming_files(info: Mapping) -> Iterator[None]:
    """Turn what goes wrong in a block into :class:`SampleError`.

    ``info`` is what the dataset knows of the sample, such as ``img_path`` and
    ``seg_map_path``.
    """
    try:
        yield
    except Exception as error:  # transforms raise of every kind
        files = [str(info[key]) for key in ('img_path', 'seg_map_path')
                 if info.get(key)]
        raise SampleError(
            f'The sample of {" and ".join(files)} cannot be made '
            f'({type(error).__name__}: {error}): restore its files or correct '
            'the pipeline.') from error


@contextlib.contextmanager
def data_losses() -> Iterator[None]:
    """Say in one sentence which file or worker was lost in a block."""
    try:
        yield
    except SampleError as error:
        # torch puts a worker's traceback in front of the message
        text = str(error).rpartition(f'{SampleError.__name__}: ')[2]
        raise DataLost(f'{text.strip()} {KEPT}') from error
    except (RuntimeError, OSError, EOFError) as error:
        if not _of_a_dead_worker(error):
            raise
        # torch's handler would raise again, in the middle of tidying up
        with contextlib.suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        raise DataLost(
            f'A worker that loads data died ({error}). It may have run out '
            'of memory, or of shared memory in a container (--shm-size): use '
            f'fewer train_dataloader.num_workers. {KEPT}') from error


def _of_a_dead_worker(error: Exception) -> bool:
    """Whether torch says so, or a worker was gone before it had handed over
    the tensors that it announced."""
    if isinstance(error, RuntimeError):
        return WORKER_DIED in str(error)
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_globals.get('__name__') == HANDS_OVER
               for frame, _ in frames)


@contextlib.contextmanager
def user_errors() -> Iterator[None]:
    """Show errors of the input without a traceback, and exit.

    The exit code is 2 for bad input, 3 for a loss or gradient that is not
    finite, 4 for processes that disagree, 74 for a full disk and 75 for a run
    that was asked to stop and can be resumed.

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


@contextlib.contextmanager
def tool_errors() -> Iterator[None]:
    """As :func:`user_errors`, for tools that read runs and write elsewhere.

    No file that cannot be written there is a run's.
    """
    with user_errors():
        try:
            yield
        except OSError as error:
            if error.filename is None and error.errno not in NO_ROOM:
                raise
            raise StorageError.of(error, 'Make room, or name another place '
                                  'with -o.') from error


def _exit(error: Exception, code: int) -> None:
    if os.environ.get('MMSEG_SPWC_DEBUG'):
        raise error
    print(f'error: {plain(str(error))}', file=sys.stderr, flush=True)
    sys.exit(code)


def plain(text: str) -> str:
    """Escape what cannot be printed, such as commands to a terminal."""
    return ''.join(c if c.isprintable() or c in '\n\t' else
                   c.encode('unicode_escape').decode() for c in text)
