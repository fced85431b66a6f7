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
from mmseg_spwc.utils.distributed import from_first_rank
from mmseg_spwc.utils.files import SUFFIX, remove_leftovers

FILE_NAME = 'run.lock'
PROC = Path('/proc')


@contextlib.contextmanager
def run_lock(work_dir: str | Path) -> Iterator[None]:
    """Hold a work_dir for the time of the block; all ranks enter together.

    The first rank creates ``run.lock`` with its process id, host and start
    time, and removes it when the block ends in whatever way. A lock whose
    process is gone, after a kill or a reboot, is replaced, and files that it
    had not finished writing are removed.

    Args:
        work_dir (str | Path): The folder; made if it is not there.

    Raises:
        ConfigError: On all ranks, if another run holds the folder, or it
            cannot be one.
    """
    path = Path(work_dir, FILE_NAME)
    from_first_rank(_take, path)
    try:
        yield
    finally:
        if is_main_process():
            path.unlink(missing_ok=True)


def _take(path: Path) -> None:
    _make_folder(path.parent)
    with _one_at_a_time(path.parent):
        if path.exists():
            _refuse_unless_stale(path)
            path.unlink()
        remove_leftovers(path.parent)
        _create(path, json.dumps(_describe(os.getpid())))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
        raise ConfigError(
            f'{folder} cannot be the folder of a run ({error.strerror}): '
            'choose another --work-dir.') from error


def _create(path: Path, text: str) -> None:
    """Make the lock, whole or not at all, and never in another's place."""
    part = path.with_name(f'.{path.name}.{os.getpid()}{SUFFIX}')
    try:
        part.write_text(text)
        try:
            os.link(part, path)
        except FileExistsError as error:  # where folders cannot be locked
            raise _refusal(path, 'just now by another run') from error
        except OSError:  # a disk without links
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Two runs must not both find a lock stale and both replace it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network disks cannot
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _refuse_unless_stale(path: Path) -> None:
    try:
        owner = json.loads(path.read_text())
        pid, host = owner['pid'], owner['host']
    except (ValueError, KeyError, TypeError) as error:
        raise _refusal(path, 'by a lock that cannot be read') from error
    since = f"process {pid} on {host} since {owner.get('time')}"
    if host != socket.gethostname():
        raise _refusal(path, f'by {since}, which cannot be asked from here')
    if _identity(pid) == (owner.get('boot'), owner.get('start')):
        raise ConfigError(
            f'{path.parent} is in use by {since}. Wait for it or end it, or '
            'choose another --work-dir; nothing was changed.')


def _refusal(path: Path, who: str) -> ConfigError:
    return ConfigError(
        f'{path.parent} was locked {who}. If no run is going on there, '
        f'delete {path}; else choose another --work-dir. Nothing was '
        'changed.')


def _describe(pid: int) -> dict:
    boot, start = _identity(pid)
    return dict(
        pid=pid,
        host=socket.gethostname(),
        time=time.strftime('%Y-%m-%d %H:%M:%S'),
        boot=boot,
        start=start)


def _identity(pid: int) -> tuple | None:
    """What tells a process from others that had or will have its number.

    Returns:
        tuple | None: The machine's boot and the process's start in clock
        ticks since then (field 22 of ``/proc/PID/stat``), both None where
        the system does not tell; None if there is no such process.
    """
    try:
        os.kill(pid, 0)  # asks only
    except ProcessLookupError:
        return None
    except PermissionError:  # somebody else's
        pass
    try:
        stat = (PROC / str(pid) / 'stat').read_text()
        boot = (PROC / 'sys/kernel/random/boot_id').read_text().strip()
    except OSError:
        return None, None
    # the name in brackets may hold blanks and brackets itself
    return boot, int(stat.rpartition(')')[2].split()[19])
