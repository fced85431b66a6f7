"""SIGTERM and SIGINT as a wish that is granted at the next good moment."""
import contextlib
import os
import signal
import threading
from collections.abc import Iterator

import torch
from mmengine.dist import all_reduce
from mmengine.logging import print_log

from .data_loss import WORKER_DIED
from .stops import Preempted

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopRequest:
    """Notes the first signal; a second one acts as it always did."""

    def __init__(self) -> None:
        self.name: str | None = None
        self._old: dict = {}
        self._pid = os.getpid()

    def install(self) -> None:
        """Take over the signals, if Python allows it in this thread."""
        if threading.current_thread() is threading.main_thread():
            self._old = {s: signal.signal(s, self._note) for s in SIGNALS}

    def remove(self) -> None:
        """Give the signals back."""
        for number, handler in self._old.items():
            signal.signal(number, handler)
        self._old = {}

    def agreed(self) -> bool:
        """Whether any rank was asked to stop; every rank must call it."""
        flag = torch.tensor([self.name is not None], dtype=torch.int32)
        all_reduce(flag, op='max')
        return bool(flag.item())

    def _note(self, number: int, frame) -> None:
        self.name = signal.Signals(number).name
        if os.getpid() != self._pid:  # a worker of a data loader
            return
        self.remove()
        print_log(f'{self.name}: stopping after this iteration; a second one '
                  'stops at once.', 'current', level=30)


# the request of the run in this process; none outside of one
_CURRENT: list[StopRequest] = []


def current_request() -> StopRequest | None:
    """The request that :func:`stop_requests` has opened, if any."""
    return _CURRENT[-1] if _CURRENT else None


@contextlib.contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Collect signals instead of dying from them, inside the block."""
    request = StopRequest()
    request.install()
    _CURRENT.append(request)
    try:
        yield request
    except RuntimeError as error:
        # a signal to a whole job ends the workers of its data loaders too
        if request.name is None or WORKER_DIED not in str(error):
            raise
        raise Preempted(
            f'{request.name} has ended the workers of a data loader. The '
            'last checkpoint is kept; go on with --resume.') from error
    finally:
        _CURRENT.pop()
        request.remove()
