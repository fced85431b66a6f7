"""A file is whole or not there."""
import errno
import multiprocessing
import os
import resource
import sys

import pytest
import torch
from safetensors.torch import load_file

from mmseg_spwc.utils.files import (
    atomic_path,
    remove_leftovers,
    write_safetensors,
    write_text,
)


def test_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / 'a.txt'
    write_text(path, 'old')
    with pytest.raises(RuntimeError), atomic_path(path) as temporary:
        temporary.write_text('half')
        raise RuntimeError
    assert path.read_text() == 'old'
    assert os.listdir(tmp_path) == ['a.txt']


def test_the_umask_decides_who_may_read(tmp_path):
    write_text(tmp_path / 'a.txt', 'x')
    (tmp_path / 'b.txt').write_text('x')
    assert (tmp_path / 'a.txt').stat().st_mode == \
        (tmp_path / 'b.txt').stat().st_mode


def test_what_a_kill_leaves_is_removed(tmp_path):
    context = atomic_path(tmp_path / 'deep' / 'a.pth')
    left = context.__enter__()  # and then it was killed
    left.write_text('half')
    for name in ('.hidden', 'a.part'):
        (tmp_path / name).touch()
    write_text(tmp_path / 'deep' / 'b.txt', 'whole')
    remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [
        '.hidden', 'a.part', 'deep']
    assert os.listdir(tmp_path / 'deep') == ['b.txt']


def _without_room(path):
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    try:
        write_safetensors(path, dict(w=torch.zeros(1000)))
    except OSError as error:
        sys.exit(error.errno)


def test_no_room_is_an_error_of_the_system(tmp_path):
    """Not one of safetensors' own, which would not be understood."""
    path = tmp_path / 'a.safetensors'
    write_safetensors(path, dict(w=torch.ones(3)), dict(format='x'))
    process = multiprocessing.get_context('fork').Process(
        target=_without_room, args=(path, ))
    process.start()
    process.join()
    assert process.exitcode == errno.EFBIG
    assert load_file(path)['w'].sum() == 3
    assert os.listdir(tmp_path) == [path.name]
