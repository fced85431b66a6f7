"""Makes a resumed run equal to one that was never interrupted."""
from collections.abc import Iterator, Mapping

import numpy as np
import torch
from mmengine.dist import all_gather_object, get_rank, get_world_size
from mmengine.hooks import CheckpointHook, Hook
from mmengine.logging import HistoryBuffer
from mmengine.runner import EpochBasedTrainLoop

from mmseg_spwc.registry import HOOKS, LOOPS
from mmseg_spwc.terminal import warn
from mmseg_spwc.utils.random_state import get_random_state, set_random_state

KEY = 'mmseg_spwc_random_states'


@HOOKS.register_module()
class ResumeStateHook(Hook):
    """Stores random states, and the message hub as plain numbers.

    MMEngine keeps no random state, so after a resume dropout and the like
    would draw other numbers. This hook stores the state of every rank with
    each checkpoint and restores it just before training goes on. Validation
    is wrapped so that it moves no random state either.

    MMEngine pickles history buffers, which ``torch.load`` refuses with
    ``weights_only=True``. They are stored as tensors here and rebuilt on
    loading, so a checkpoint holds nothing that could run code.
    """

    # after everything that draws numbers, before the CheckpointHook
    priority = 'LOW'

    def __init__(self) -> None:
        self._current: list = []
        self._loaded: list = []
        self._before_val: dict = {}

    def take_random_states(self) -> None:
        """Note the state of every rank; each of them must call it."""
        self._current = all_gather_object(get_random_state())

    def after_train_epoch(self, runner) -> None:
        self.take_random_states()

    def after_train_iter(self, runner, batch_idx, data_batch=None,
                         outputs=None) -> None:
        for hook in runner.hooks:
            if isinstance(hook, CheckpointHook) and not hook.by_epoch and (
                    self.every_n_train_iters(runner, hook.interval)
                    or self.is_last_train_iter(runner)):
                self.take_random_states()

    def before_save_checkpoint(self, runner, checkpoint: dict) -> None:
        checkpoint['message_hub'] = _plain(checkpoint['message_hub'])
        checkpoint[KEY] = self._current

    def after_load_checkpoint(self, runner, checkpoint: dict) -> None:
        self._loaded = checkpoint.get(KEY, [])
        hub = checkpoint.get('message_hub', {})
        scalars = hub.get('log_scalars', {})
        for name, value in scalars.items():
            if isinstance(value, Mapping):
                scalars[name] = HistoryBuffer(
                    value['log'].tolist(), value['count'].tolist(),
                    value['max_length'])

    def before_train(self, runner) -> None:
        if not self._loaded:
            return
        if len(self._loaded) == get_world_size():
            set_random_state(self._loaded[get_rank()])
        else:
            warn(
                f'The checkpoint was written by {len(self._loaded)} '
                f'processes, now there are {get_world_size()}: random '
                'numbers go on from the seed, not from where they were.')

    def before_val(self, runner) -> None:
        self._before_val = get_random_state()

    def after_val(self, runner) -> None:
        set_random_state(self._before_val)


@LOOPS.register_module()
class ResumableEpochLoop(EpochBasedTrainLoop):
    """``EpochBasedTrainLoop`` that skips what an epoch has already seen.

    MMEngine's loop always starts at the first batch of an epoch, so a
    checkpoint inside an epoch is of no use to it. Here the batches before
    ``runner.iter`` are drawn and dropped. As every sample is seeded by its
    own index and epoch, and the random states are put back afterwards, the
    rest of the epoch is bit for bit what it would have been.
    """

    def run_epoch(self) -> None:
        """Iterate over what is left of one epoch."""
        self.runner.call_hook('before_train_epoch')
        self.runner.model.train()
        done = self._iter - self._epoch * len(self.dataloader)
        for idx, data_batch in enumerate(self._batches(done), start=done):
            self.run_iter(idx, data_batch)
        self.runner.call_hook('after_train_epoch')
        self._epoch += 1

    def _batches(self, done: int) -> Iterator[dict]:
        # A new iterator draws a seed for its workers. A resumed run makes one
        # where an uninterrupted one may go on with its old one, so that
        # drawing must not count.
        state = get_random_state()
        batches = iter(self.dataloader)
        for _ in range(done):
            next(batches)
        set_random_state(state)
        return batches


def _plain(value):
    """Turn the message hub's state into tensors, numbers and text."""
    if isinstance(value, HistoryBuffer):
        log, count = value.data
        return dict(
            log=torch.as_tensor(np.asarray(log, dtype=np.float64)),
            count=torch.as_tensor(np.asarray(count, dtype=np.int64)),
            max_length=value.max_length)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return torch.as_tensor(value)
    if value is None or isinstance(value, (str, int, float, torch.Tensor)):
        return value
    raise TypeError(
        f'The message hub holds a value of type {type(value).__name__}, '
        'which cannot be stored safely: put numbers, text or tensors into it.')
