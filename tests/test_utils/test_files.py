"""A file is whole or not there."""
import os

import pytest

from mmseg_spwc.utils.files import atomic_path, write_text


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
