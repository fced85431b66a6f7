"""A run that is asked to stop, and resumed, equals one that was not."""
import os
import signal

import pytest
import torch
from toy_runs import At, toy_runner, weights

from mmseg_spwc.errors import Preempted, user_errors
from mmseg_spwc.runtime import preemption
from mmseg_spwc.runtime.preemption import StopRequest, stop_requests
from mmseg_spwc.utils import distributed


def send(number):
    return lambda runner: os.kill(os.getpid(), number)


def train(*args, **kwargs):
    runner = toy_runner(*args, **kwargs)
    with stop_requests():
        runner.train()
    return runner


@pytest.fixture(scope='module')
def whole(tmp_path_factory):
    return {loop: weights(train(tmp_path_factory.mktemp(loop), loop))
            for loop in ('epoch', 'iteration', 'lazy')}


@pytest.mark.parametrize('loop', ['epoch', 'iteration', 'lazy'])
@pytest.mark.parametrize('at', [0, 1, 4, 5, 7, 11])
def test_resumed_inside_an_epoch_or_at_its_end(tmp_path, whole, loop, at):
    # three batches an epoch, checkpoints after every second epoch or batch
    with pytest.raises(Preempted, match=f'iteration {at + 1} of 12 .*iter_'):
        train(tmp_path, loop, [At(at, send(signal.SIGTERM))])
    again = train(tmp_path, loop)
    assert torch.equal(weights(again), whole[loop])


def test_stopped_again_and_again(tmp_path, whole):
    for at in (1, 3, 4, 8, 10):
        with pytest.raises(Preempted):
            train(tmp_path, 'epoch', [At(at, send(signal.SIGINT))])
        assert [p.name for p in tmp_path.glob('iter_*.pth')] == [
            f'iter_{at + 1}.pth']
    assert torch.equal(weights(train(tmp_path)), whole['epoch'])
    assert not list(tmp_path.glob('iter_*.pth'))


def test_workers_that_live_on_change_nothing(tmp_path, whole):
    """A resumed run starts workers where the other one keeps its old."""
    with pytest.raises(Preempted):
        train(tmp_path, hooks=[At(7, send(signal.SIGTERM))], workers=1)
    assert torch.equal(weights(train(tmp_path, workers=1)), whole['epoch'])


def test_half_gathered_gradients_are_waited_for(tmp_path):
    options = dict(optim_wrapper=dict(accumulative_counts=2))
    expected = weights(train(tmp_path / 'whole', **options))
    with pytest.raises(Preempted, match='iteration 6 of'):
        train(tmp_path / 'a', hooks=[At(4, send(signal.SIGTERM))], **options)
    again = train(tmp_path / 'a', **options)
    assert torch.equal(weights(again), expected)


@pytest.fixture
def python_answers_sigint():
    """A process that a shell starts in the background ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_signals_are_given_back(python_answers_sigint):
    before = [signal.getsignal(s) for s in preemption.SIGNALS]
    with stop_requests() as request:
        assert signal.getsignal(signal.SIGTERM) == request._note
        os.kill(os.getpid(), signal.SIGINT)
        assert request.name == 'SIGINT' and request.agreed()
        # the second one acts at once
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert [signal.getsignal(s) for s in preemption.SIGNALS] == before


def test_one_asked_rank_stops_all(monkeypatch):
    request = StopRequest()
    assert not request.agreed()

    def other_rank_was_asked(flag, op):
        assert op == 'max'
        flag.fill_(1)

    monkeypatch.setattr(distributed, 'get_world_size', lambda: 2)
    monkeypatch.setattr(distributed, 'all_reduce', other_rank_was_asked)
    assert request.agreed()


def test_workers_that_died_of_the_same_signal(capsys):
    error = RuntimeError('DataLoader worker (pid 7) is killed by signal')
    with pytest.raises(RuntimeError, match='pid 7'), stop_requests():
        raise error
    with pytest.raises(SystemExit) as stop, user_errors(), \
            stop_requests() as request:
        request.name = 'SIGTERM'
        raise error
    assert stop.value.code == 75
    assert '--resume' in capsys.readouterr().err
