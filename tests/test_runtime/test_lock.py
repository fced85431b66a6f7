"""One run in one folder, and no lock that outlives its run."""
import errno
import fcntl
import json
import multiprocessing
import os
import signal
import socket
import time
from pathlib import Path

import pytest

from mmseg_spwc.errors import ConfigError
from mmseg_spwc.runtime.lock import FILE_NAME, run_lock
from mmseg_spwc.terminal import shown


def test_the_lock_says_who_and_goes_with_the_block(tmp_path):
    work_dir = tmp_path / 'new' / 'run'
    with run_lock(work_dir):
        owner = json.loads((work_dir / FILE_NAME).read_text())
        assert owner['pid'] == os.getpid()
        assert owner['host'] == socket.gethostname()
    assert os.listdir(work_dir) == []


@pytest.mark.parametrize('error', [ValueError, KeyboardInterrupt, SystemExit])
def test_released_on_every_exception(tmp_path, error):
    with pytest.raises(error), run_lock(tmp_path):
        raise error
    assert os.listdir(tmp_path) == []


def test_a_second_run_is_refused_and_leaves_the_first_alone(tmp_path):
    with run_lock(tmp_path):
        before = (tmp_path / FILE_NAME).read_text()
        with pytest.raises(ConfigError, match=(
                f'process {os.getpid()} on {socket.gethostname()}')), \
                run_lock(tmp_path):
            pass
        assert (tmp_path / FILE_NAME).read_text() == before


def write(tmp_path, **changes):
    """What a run leaves that was killed."""
    with run_lock(tmp_path):
        owner = json.loads((tmp_path / FILE_NAME).read_text())
    owner.update(changes)
    (tmp_path / FILE_NAME).write_text(json.dumps(owner))


@pytest.mark.parametrize('changes', [{}, dict(pid=1), dict(boot='another')])
def test_a_dead_process_holds_nothing(tmp_path, changes):
    """Whoever has its number now, here or in another container."""
    write(tmp_path, **changes)
    with run_lock(tmp_path):
        owner = json.loads((tmp_path / FILE_NAME).read_text())
        assert owner['pid'] == os.getpid()
    assert os.listdir(tmp_path) == []


def holding(folder, queue, ends):
    with run_lock(folder):
        queue.put('in')
        ends.wait()


@pytest.mark.parametrize('pid', [None, 2**22 + 1])
def test_a_living_process_holds_it_whatever_its_number_is_here(tmp_path, pid):
    """In another namespace of processes the number may be that of none."""
    context = multiprocessing.get_context('fork')
    queue, ends = context.Queue(), context.Event()
    child = context.Process(target=holding, args=(tmp_path, queue, ends))
    child.start()
    assert queue.get(timeout=20) == 'in'
    path = tmp_path / FILE_NAME
    if pid:
        path.write_text(json.dumps(dict(json.loads(path.read_text()),
                                        pid=pid, boot='another')))
    with pytest.raises(ConfigError, match=f'process {pid or child.pid} on'), \
            run_lock(tmp_path):
        pass
    ends.set()
    child.join()
    assert os.listdir(tmp_path) == []


def test_an_ending_run_leaves_the_lock_of_another(tmp_path):
    path = tmp_path / FILE_NAME
    with run_lock(tmp_path):
        path.unlink()  # by somebody who thought nothing of it
        path.write_text('theirs')
    assert path.read_text() == 'theirs'


def sleeping(folder, queue):
    with run_lock(folder):
        child = multiprocessing.get_context('fork').Process(
            target=time.sleep, args=(30, ))
        child.start()
        queue.put(child.pid)
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_outlives_its_run_holds_nothing(tmp_path):
    context = multiprocessing.get_context('fork')
    queue = context.SimpleQueue()
    child = context.Process(target=sleeping, args=(tmp_path, queue))
    child.start()
    worker = queue.get()
    child.join()
    with run_lock(tmp_path):
        pass
    os.kill(worker, signal.SIGKILL)


@pytest.mark.parametrize('left', [False, True])
def test_disks_without_locks(tmp_path, monkeypatch, left, capsys):
    def refuse(*_):
        raise OSError(errno.ENOLCK, 'No locks available')

    if left:
        write(tmp_path)
    monkeypatch.setattr(fcntl, 'flock', refuse)
    if left:
        with pytest.raises(ConfigError, match='delete .*run.lock'), \
                run_lock(tmp_path):
            pass
        return
    with shown(False), run_lock(tmp_path):
        assert os.listdir(tmp_path) == [FILE_NAME]
        with pytest.raises(ConfigError, match='cannot be asked'), \
                run_lock(tmp_path):
            pass
    assert 'see to it that no second run' in ''.join(capsys.readouterr())
    assert os.listdir(tmp_path) == []


def killed_while_locking(folder, owner, name):
    setattr(owner, name, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    with run_lock(folder):
        pass


@pytest.mark.parametrize(('owner', 'name'), [
    (fcntl, 'flock'), (os.path, 'samestat'), (Path, 'write_text'),
    (Path, 'unlink')])
def test_a_kill_while_locking_leaves_nothing_in_the_way(tmp_path, owner,
                                                        name):
    child = multiprocessing.get_context('fork').Process(
        target=killed_while_locking, args=(tmp_path, owner, name))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    with run_lock(tmp_path):
        assert os.listdir(tmp_path) == [FILE_NAME]


def test_a_full_disk_leaves_no_lock(tmp_path, monkeypatch):
    def full(path, text):
        path.touch()
        raise OSError(errno.ENOSPC, 'full')
    monkeypatch.setattr(Path, 'write_text', full)
    with pytest.raises(OSError, match='full'), run_lock(tmp_path):
        pass
    assert os.listdir(tmp_path) == []


def test_another_host_is_refused_with_advice(tmp_path):
    write(tmp_path, host='elsewhere')
    with pytest.raises(ConfigError, match='elsewhere.*delete .*run.lock'), \
            run_lock(tmp_path):
        pass
    assert (tmp_path / FILE_NAME).exists()


@pytest.mark.parametrize('text', ['', '{', '[]', '{"pid": 1}'])
def test_what_nobody_holds_says_nothing(tmp_path, text):
    (tmp_path / FILE_NAME).write_text(text)
    with run_lock(tmp_path):
        pass


def test_a_folder_in_the_place_of_the_lock(tmp_path):
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(ConfigError, match='run.lock: .*choose another'), \
            run_lock(tmp_path):
        pass


def race(folder, barrier, queue):
    barrier.wait()
    try:
        with run_lock(folder):
            barrier.wait()
            queue.put('in')
    except ConfigError:
        barrier.wait()
        queue.put('out')


def test_of_many_at_once_exactly_one_replaces_a_stale_lock(tmp_path):
    context = multiprocessing.get_context('fork')
    for _ in range(5):
        write(tmp_path)
        barrier, queue = context.Barrier(6), context.Queue()
        racers = [context.Process(target=race, args=(tmp_path, barrier, queue))
                  for _ in range(6)]
        for racer in racers:
            racer.start()
        results = [queue.get(timeout=20) for _ in racers]
        for racer in racers:
            racer.join()
        assert sorted(results) == ['in'] + ['out'] * 5
