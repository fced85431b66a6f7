"""What Ray runs for a trial, here without Ray."""
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from small_sweeps import ROOT

from mmseg_spwc import errors
from mmseg_spwc.sweep import trial_process
from mmseg_spwc.sweep.trial_process import (
    failure,
    run_trial,
    wait_for_earlier_process,
)


def job(folder, code, **env):
    return dict(folder=str(folder), command=['-c', code], cwd=str(folder),
                env=env)


def test_a_process_that_ends_well(tmp_path):
    code = 'import os; print(os.environ["OMP_NUM_THREADS"], os.getcwd())'
    assert run_trial(job(tmp_path, code, OMP_NUM_THREADS='3')) is None
    assert (tmp_path / 'train.log').read_text() == f'3 {tmp_path}\n'
    when, host, pid = (tmp_path / 'attempts.txt').read_text().split()
    assert (host, int(pid)) == (socket.gethostname(), os.getpid())


def test_bad_input_is_told_and_not_repeated(tmp_path):
    (tmp_path / 'train.log').write_text('error: an old one\n')
    code = 'import sys; print("error: No data.\\nx"); sys.exit(2)'
    assert run_trial(job(tmp_path, code)) == 'No data.'


@pytest.mark.parametrize('code, words', [
    ('1/0', 'ZeroDivisionError: division by zero'),
    ('import os; os.kill(os.getpid(), 9)', 'it was ended by signal 9'),
    ('raise SystemExit(75)', 'it was asked to stop'),
    ('raise SystemExit(1)', 'nothing was written')])
def test_what_may_go_better_next_time_is_raised(tmp_path, code, words):
    (tmp_path / 'train.log').write_text('error: an old one\n')
    with pytest.raises(ChildProcessError, match=words):
        run_trial(job(tmp_path, code))


def test_a_full_disk_is_told_apart(tmp_path):
    code = 'import sys; print("error: Cannot write x: no."); sys.exit(74)'
    with pytest.raises(OSError) as told:
        run_trial(job(tmp_path, code))
    assert told.value.errno in errors.NO_ROOM
    assert told.value.strerror == 'Cannot write x: no.'
    # the same words with another code
    assert run_trial(job(tmp_path, code.replace('74', '2'))) == \
        'Cannot write x: no.'


def test_exit_codes_are_those_of_the_errors():
    """The module imports nothing of the package."""
    codes = {kind.exit_code: kind for kind in (
        errors.RunStopped, *errors.RunStopped.__subclasses__())}
    assert codes.pop(trial_process.NO_ROOM) is errors.StorageError
    assert codes.pop(trial_process.STOPPED) is errors.Preempted
    assert codes.pop(1) is errors.RunStopped
    assert set(codes) == set(trial_process.FINAL)


def test_nothing_begins_without_its_step_0(tmp_path):
    told = run_trial(job(tmp_path, '1'), 'No data.')
    assert told == 'its step 0 failed: No data.'
    assert not (tmp_path / 'attempts.txt').exists()


def test_a_process_dies_with_its_worker(tmp_path):
    """A worker that is killed leaves nobody behind who holds the folder."""
    code = f'''
import sys
sys.path.insert(0, {str(ROOT / "mmseg_spwc/sweep")!r})  # no torch
from trial_process import run_trial
run_trial(dict(folder={str(tmp_path)!r}, cwd={str(tmp_path)!r}, env={{}},
               command=['-c', 'import os, time; print(os.getpid(), '
                        'flush=True); time.sleep(600)']))
'''
    worker = subprocess.Popen([sys.executable, '-c', code])
    log = tmp_path / 'train.log'
    for _ in range(600):
        if log.exists() and log.read_text().endswith('\n'):
            break
        time.sleep(0.1)
    child = int(log.read_text())
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    for _ in range(100):
        if not _alive(child):
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    pytest.fail('the process outlived its worker')


def _alive(pid):
    try:
        with open(f'/proc/{pid}/stat') as file:
            return file.read().rpartition(')')[2].split()[0] != 'Z'
    except FileNotFoundError:
        return False


def lock(folder, **owner):
    path = folder / 'run.lock'
    path.write_text(json.dumps(owner))
    return path


def test_a_lock_from_another_machine_is_a_remnant(tmp_path):
    path = lock(tmp_path, host='elsewhere', pid=1)
    wait_for_earlier_process(tmp_path)
    assert not path.exists()


def test_an_earlier_process_here_is_waited_for(tmp_path):
    path = lock(tmp_path, host=socket.gethostname(), pid=os.getpid())
    held = path.open()
    fcntl.flock(held, fcntl.LOCK_EX)
    timer = threading.Timer(1.5, held.close)
    timer.start()
    begin = time.monotonic()
    wait_for_earlier_process(tmp_path)
    assert 1 < time.monotonic() - begin < 20
    assert not path.exists()
    timer.join()


def test_words_of_this_attempt_alone(tmp_path):
    log = tmp_path / 'log'
    log.write_text('error: old\nnew\n')
    assert failure(log, len('error: old\n'), 1) == 'new'
    log.write_text('x' * 50_000 + '\nlast\n')
    assert failure(log, 0, 1) == 'last'
