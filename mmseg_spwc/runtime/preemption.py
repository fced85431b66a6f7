"""Handles SIGTERM and SIGINT after the current iteration."""
import contextlib
import os
import signal
import threading
from collections.abc import Iterator

from mmengine.hooks import Hook

from mmseg_spwc.errors import WORKER_DIED, Preempted
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.terminal import warn
from mmseg_spwc.utils.distributed import anywhere

from .checkpoint_hook import SafeCheckpointHook

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopRequest:
    """Notes the first signal; a second one has its usual effect."""

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
        return anywhere(self.name is not None)

    def _note(self, number: int, frame) -> None:
        self.name = signal.Signals(number).name
        if os.getpid() != self._pid:  # a worker of a data loader
            return
        self.remove()
        warn(f'{self.name}: stopping after this iteration; a second one '
             'stops at once.')


# the request of the run in this process; none outside of one
_CURRENT: list[StopRequest] = []


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


@HOOKS.register_module()
class PreemptionHook(Hook):
    """Answers SIGTERM and SIGINT: finish the iteration, save, stop.

    The checkpoint lies exactly where the run stopped, inside an epoch too
    (:class:`ResumableEpochLoop`), so that ``--resume`` gives bit for bit what
    the uninterrupted run would have given. While scoring there is nothing to
    save: a resumed run scores again. All ranks stop together as soon as one
    of them was asked to; they compare one number per iteration.
    """

    # after everything that belongs to an iteration, checkpoints included
    priority = 'LOWEST'

    def after_train_iter(self, runner, batch_idx, data_batch=None,
                         outputs=None) -> None:
        # gradients that wait for the next iteration are not stored
        if runner.optim_wrapper.should_update() and self._asked():
            raise Preempted(f'{self._save(runner)} Go on with --resume.')

    def after_val_iter(self, runner, batch_idx, data_batch=None,
                       outputs=None) -> None:
        if self._asked():
            raise Preempted('The run was stopped while it scored a model. '
                            'Go on with --resume.')

    after_test_iter = after_val_iter

    def _asked(self) -> bool:
        return bool(_CURRENT) and _CURRENT[-1].agreed()

    def _save(self, runner) -> str:
        stopped = (f'The run was stopped after iteration {runner.iter + 1} '
                   f'of {runner.max_iters}')
        for hook in runner.hooks:
            if isinstance(hook, SafeCheckpointHook):
                return f'{stopped} and saved to {hook.save_now(runner)}.'
        return (f'{stopped}, without a SafeCheckpointHook that could save '
                'it.')
