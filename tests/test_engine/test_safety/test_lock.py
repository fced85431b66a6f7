"""One run in one folder, and no lock that outlives its run."""
import errno
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mmseg_spwc.engine.safety import lock
from mmseg_spwc.engine.safety.lock import FILE_NAME, run_lock
from mmseg_spwc.errors import ConfigError


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
    with run_lock(tmp_path):
        owner = json.loads((tmp_path / FILE_NAME).read_text())
    owner.update(changes)
    (tmp_path / FILE_NAME).write_text(json.dumps(owner))


def test_a_dead_process_holds_nothing(tmp_path):
    child = subprocess.Popen([sys.executable, '-c', ''])
    child.wait()
    write(tmp_path, pid=child.pid)
    with run_lock(tmp_path):
        owner = json.loads((tmp_path / FILE_NAME).read_text())
        assert owner['pid'] == os.getpid()


@pytest.mark.parametrize('changes', [dict(start=1), dict(boot='another')])
def test_a_number_that_was_given_again_holds_nothing(tmp_path, changes):
    write(tmp_path, **changes)  # our own pid, which is alive
    with run_lock(tmp_path):
        pass


def test_systems_without_proc_tell_living_from_dead(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, 'PROC', tmp_path / 'nowhere')
    work_dir = tmp_path / 'run'
    with run_lock(work_dir), pytest.raises(ConfigError, match='is in use'), \
            run_lock(work_dir):
        pass
    child = subprocess.Popen([sys.executable, '-c', ''])
    child.wait()
    write(work_dir, pid=child.pid)
    with run_lock(work_dir):
        pass


def killed_while_locking(folder, name):
    setattr(os, name, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    with run_lock(folder):
        pass


@pytest.mark.parametrize('name', ['link', 'close'])
def test_a_kill_while_locking_leaves_nothing_in_the_way(tmp_path, name):
    child = multiprocessing.get_context('fork').Process(
        target=killed_while_locking, args=(tmp_path, name))
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


def test_disks_without_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError
    monkeypatch.setattr(os, 'link', refuse)
    with run_lock(tmp_path):
        assert os.listdir(tmp_path) == [FILE_NAME]
    assert os.listdir(tmp_path) == []


def test_another_host_is_refused_with_advice(tmp_path):
    write(tmp_path, host='elsewhere')
    with pytest.raises(ConfigError, match='elsewhere.*delete .*run.lock'), \
            run_lock(tmp_path):
        pass
    assert (tmp_path / FILE_NAME).exists()


@pytest.mark.parametrize('text', ['', '{', '[]', '{"pid": 1}'])
def test_an_unreadable_lock_is_refused_with_advice(tmp_path, text):
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(ConfigError, match='cannot be read.*delete'), \
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
        child = context.Process()
        child.start()
        child.join()
        write(tmp_path, pid=child.pid)
        barrier, queue = context.Barrier(6), context.Queue()
        racers = [context.Process(target=race, args=(tmp_path, barrier, queue))
                  for _ in range(6)]
        for racer in racers:
            racer.start()
        results = [queue.get(timeout=20) for _ in racers]
        for racer in racers:
            racer.join()
        assert sorted(results) == ['in'] + ['out'] * 5
