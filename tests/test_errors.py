"""Lost files and workers are told from other errors."""
import signal
from multiprocessing import resource_sharer
from pathlib import Path
from types import SimpleNamespace

import pytest
from torch._utils import ExceptionWrapper

from mmseg_spwc.errors import DataLost, SampleError, data_losses


@pytest.fixture(autouse=True)
def handler_kept():
    """torch sets its handler once a process, and ``data_losses`` ends it."""
    before = signal.getsignal(signal.SIGCHLD)
    yield
    signal.signal(signal.SIGCHLD, before)


def test_a_worker_s_traceback_is_left_out():
    try:
        raise SampleError('The sample of a.jpg cannot be made: restore it.')
    except SampleError:
        wrapped = ExceptionWrapper(where='in DataLoader worker process 0')
    with pytest.raises(DataLost) as caught, data_losses():
        wrapped.reraise()
    assert str(caught.value).startswith('The sample of a.jpg cannot be made')
    assert 'Traceback' not in str(caught.value)
    assert '--resume' in str(caught.value)


@pytest.mark.parametrize('text', [
    'DataLoader worker (pid 7) is killed by signal: Killed. ',
    'DataLoader worker (pid(s) 7, 8) exited unexpectedly',
])
def test_dead_workers_are_recognised(text):
    with pytest.raises(DataLost, match='num_workers') as caught, \
            data_losses():
        raise RuntimeError(text)
    assert caught.value.exit_code == 2


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match='^CUDA out of memory$'), \
            data_losses():
        raise RuntimeError('CUDA out of memory')


def test_a_worker_that_dies_while_it_hands_over_is_recognised(tmp_path):
    address = str(tmp_path / 'gone')  # the socket of a dead process
    with pytest.raises(DataLost, match='num_workers'), data_losses():
        resource_sharer.DupFd.detach(SimpleNamespace(_id=(address, 1)))
    with pytest.raises(FileNotFoundError), data_losses():
        Path(address).read_text()
