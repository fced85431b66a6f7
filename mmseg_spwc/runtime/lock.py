"""One run in one work_dir at a time."""
import contextlib
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from mmengine.dist import is_main_process

from mmseg_spwc.errors import NO_ROOM, ConfigError
from mmseg_spwc.terminal import warn
from mmseg_spwc.utils.distributed import from_first_rank
from mmseg_spwc.utils.files import read_text, remove_leftovers

FILE_NAME = 'run.lock'
_held: dict[Path, int] = {}  # open files by path


@contextlib.contextmanager
def run_lock(work_dir: str | Path) -> Iterator[None]:
    """Hold a work_dir for the time of the block; all ranks enter together.

    The first rank opens ``run.lock``, which says who it is, and has the
    kernel lock it (``flock``) until the block or the process ends in whatever
    way. Files that an earlier run had not finished writing are removed.
    """
    path = Path(work_dir, FILE_NAME)
    from_first_rank(_take, path)
    try:
        yield
    finally:
        if is_main_process():
            _leave(path)


def _take(path: Path) -> None:
    if str(path).encode(errors='replace') != os.fsencode(path):
        raise ConfigError(
            f'{str(path.parent)!r} is not UTF-8, so the record cannot name '
            'it: choose another --work-dir.')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = _lock(path)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
        raise ConfigError(
            f'{path.parent} cannot be the folder of a run ({path}: '
            f'{error.strerror}): choose another --work-dir.') from error
    _held[path] = handle
    try:
        _refuse_other_host(path)
    except ConfigError:
        os.close(_held.pop(path))
        raise
    try:
        remove_leftovers(path.parent)
        path.write_text(json.dumps(dict(
            pid=os.getpid(), host=socket.gethostname(),
            time=time.strftime('%Y-%m-%d %H:%M:%S'))))
    except BaseException:
        _leave(path)
        raise


def _lock(path: Path) -> int:
    """Open and lock the file that is at a path when it is locked."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except FileNotFoundError:  # its run has just ended, and removed it
            pass
        except BlockingIOError as error:
            os.close(handle)
            raise ConfigError(
                f'{path.parent} is in use by {_owner(path)}. Wait for it or '
                'end it, or choose another --work-dir; nothing was changed.'
            ) from error
        except OSError as error:
            if os.fstat(handle).st_size:
                os.close(handle)
                raise _refusal(path) from error
            warn(f'{path.parent} is on a disk without locks '
                 f'({error.strerror}): see to it that no second run uses it.')
            return handle
        os.close(handle)


def _refuse_other_host(path: Path) -> None:
    """Of some network disks each machine sees its own locks only."""
    host = _read(path).get('host', socket.gethostname())
    if host != socket.gethostname():
        raise _refusal(path)


def _refusal(path: Path) -> ConfigError:
    return ConfigError(
        f'{path.parent} was locked by {_owner(path)}, which cannot be asked '
        f'from here. If no run is going on there, delete {path}; else choose '
        'another --work-dir. Nothing was changed.')


def _owner(path: Path) -> str:
    owner = _read(path)
    return 'process {} on {} since {}'.format(
        *(owner.get(key, 'unknown') for key in ('pid', 'host', 'time')))


def _read(path: Path) -> dict:
    try:
        content = json.loads(read_text(path))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _leave(path: Path) -> None:
    handle = _held.pop(path)
    with contextlib.suppress(OSError):
        if os.path.samestat(os.fstat(handle), os.stat(path)):
            path.unlink()  # else it is another run's
    os.close(handle)


def _close_all() -> None:
    while _held:
        os.close(_held.popitem()[1])


# workers that outlive a run that was killed must not hold its folder
os.register_at_fork(after_in_child=_close_all)
