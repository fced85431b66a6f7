"""What Ray runs for a trial: a training process, on any machine.

Ray sends these functions to its workers by value, so that a worker need not
import torch only to wait for a process; nothing of this project is imported
here.
"""
import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

LOG = 'train.log'
ATTEMPTS = 'attempts.txt'
# exit codes of a run: see mmseg_spwc.errors
FINAL = (2, 3, 4)  # it would end in the same way again
NO_ROOM = 74
STOPPED = 75  # it was asked to stop and can go on
PAUSE = 0.2  # seconds between two looks
LONGEST_WAIT = 60  # seconds for an earlier process to end


def run_trial(job: dict, first_step: str | None = None) -> str | None:
    """Train until the process ends; say why it failed, None if it did not.

    ``job`` is what :func:`make_job` returned. Ray waits for ``first_step``,
    the outcome of the shared step 0. If the process died, the
    ChildProcessError lets Ray try again, and ``--resume`` goes on; if the disk
    is full, it is an OSError with ``ENOSPC``.
    """
    if first_step is not None:
        return f'its step 0 failed: {first_step}'
    folder = Path(job['folder'])
    wait_for_earlier_process(folder)
    with (folder / ATTEMPTS).open('a') as attempts:
        attempts.write(f'{time.time():.0f} {socket.gethostname()} '
                       f'{os.getpid()}\n')
    with (folder / LOG).open('ab') as log:
        begin = log.seek(0, os.SEEK_END)
        process = subprocess.Popen(
            [sys.executable, *job['command']], stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, cwd=job['cwd'],
            env=dict(os.environ, **job['env']), start_new_session=True,
            preexec_fn=_die_with_parent)
        try:
            while process.poll() is None:
                time.sleep(PAUSE)  # Ray can only interrupt Python
            code = process.returncode
        except BaseException:  # the driver cancels
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise
    if code == 0:
        return None
    reason = failure(folder / LOG, begin, code)
    if code == NO_ROOM:
        raise OSError(errno.ENOSPC, reason)
    if code in FINAL:
        return reason
    raise ChildProcessError(reason)


def wait_for_earlier_process(folder: Path) -> None:
    """Wait until no earlier process of this trial runs.

    One sweep holds the folder, and Ray starts a trial again only when it has
    lost the worker, with which the process dies. So a lock that is not held
    is a remnant, even from another machine.
    """
    lock = folder / 'run.lock'
    with contextlib.suppress(OSError), lock.open('r+') as file:
        for _ in range(LONGEST_WAIT):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(1)
                continue
            lock.unlink()
            return


def failure(log: Path, begin: int, code: int) -> str:
    """Say why a process ended that has written to a log from ``begin`` on."""
    if code == STOPPED:
        return 'it was asked to stop'
    if code < 0:
        return f'it was ended by signal {-code}'
    with log.open('rb') as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(file.tell() - 10_000, begin))
        lines = file.read().decode(errors='replace').split('\n')
    lines = [line.strip() for line in lines if line.strip()]
    told = [line for line in lines if line.startswith('error: ')]
    words = (told or lines or ['nothing was written'])[-1]
    return words.removeprefix('error: ')


def _die_with_parent() -> None:
    """Let a process that lost its worker end (Linux only)."""
    if sys.platform == 'linux':
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
