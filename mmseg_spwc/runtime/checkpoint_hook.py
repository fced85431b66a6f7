"""Checkpoints inside a step: whole or not there, and exact to resume from."""
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import torch
from mmengine.dist import (
    all_gather_object,
    broadcast_object_list,
    get_rank,
    get_world_size,
    is_main_process,
)
from mmengine.fileio import LocalBackend, register_backend
from mmengine.hooks import CheckpointHook
from mmengine.logging import HistoryBuffer
from mmengine.runner import IterBasedTrainLoop

from mmseg_spwc.errors import NO_ROOM, CheckpointError, StorageError
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.terminal import warn
from mmseg_spwc.utils.files import atomic_path, write_text
from mmseg_spwc.utils.random_state import get_random_state, set_random_state

from .resume_point import check_plain

ATOMIC = 'mmseg_spwc_atomic'
KEY = 'mmseg_spwc_random_states'


class AtomicBackend(LocalBackend):
    """The local disk, where files appear only when they are complete.

    The bytes go to a temporary name, are flushed to the disk and renamed, so
    that a kill or a full disk leaves what was there before.
    """

    def put(self, obj: bytes, filepath: str | Path) -> None:
        with atomic_path(filepath) as temporary:
            temporary.write_bytes(obj)


register_backend(ATOMIC, AtomicBackend, force=True)


@HOOKS.register_module()
class SafeCheckpointHook(CheckpointHook):
    """A ``CheckpointHook`` from whose files a run goes on bit for bit.

    - A checkpoint appears under its name only when it is complete, and older
      ones are removed only after that; MMEngine does it the other way round.
    - It holds the random states of all processes, which MMEngine does not
      keep, and they are restored just before training goes on. Validation
      moves no random state either.
    - It holds nothing that could run code: the histories of the message hub
      are stored as tensors, and what was written is looked at once, so that
      an object is refused here, not when the file is needed.

    Args:
        backend_args (dict, optional): As in ``CheckpointHook``. Defaults to
            the local disk, written atomically.
        **kwargs: The other arguments of ``CheckpointHook``.
    """

    def __init__(self, *args, backend_args: dict | None = None,
                 **kwargs) -> None:
        self._local = backend_args is None
        self._current: list = []
        self._loaded: list = []
        self._before_val: dict = {}
        super().__init__(
            *args, backend_args=backend_args or dict(backend=ATOMIC), **kwargs)

    def save_now(self, runner) -> str:
        """Write a checkpoint after any iteration, even inside an epoch.

        Returns:
            str: Its path.
        """
        if self.by_epoch:
            earlier = self._inside_epochs()
            self._write(runner, f'iter_{runner.iter + 1}.pth',
                        dict(epoch=runner.epoch, iter=runner.iter + 1))
            self._remove(set(earlier) - {self.last_ckpt})
        else:
            self._save_checkpoint(runner)
        return self.last_ckpt

    def before_train(self, runner) -> None:
        super().before_train(runner)
        if self._loaded and len(self._loaded) != get_world_size():
            warn(
                f'The checkpoint was written by {len(self._loaded)} '
                f'processes, now there are {get_world_size()}: random '
                'numbers go on from the seed, not from where they were.')
            self._loaded = []
        self._restore()
        if not isinstance(runner.train_loop, IterBasedTrainLoop):
            self._loaded = []

    def before_train_iter(self, runner, batch_idx, data_batch=None) -> None:
        """Once more: in some releases of MMEngine this loop opens its data
        for the first batch, which draws a number."""
        self._restore()
        self._loaded = []

    def _restore(self) -> None:
        if self._loaded:
            set_random_state(self._loaded[get_rank()])

    def before_val(self, runner) -> None:
        self._before_val = get_random_state()

    def after_val(self, runner) -> None:
        set_random_state(self._before_val)

    def before_save_checkpoint(self, runner, checkpoint: dict) -> None:
        checkpoint['message_hub'] = _plain(checkpoint['message_hub'])
        checkpoint[KEY] = self._current

    def after_load_checkpoint(self, runner, checkpoint: dict) -> None:
        self._loaded = checkpoint.get(KEY, [])
        scalars = checkpoint.get('message_hub', {}).get('log_scalars', {})
        for name, value in scalars.items():
            if isinstance(value, Mapping):
                scalars[name] = HistoryBuffer(
                    value['log'].tolist(), value['count'].tolist(),
                    value['max_length'])

    def _save_checkpoint_with_step(self, runner, step: int,
                                   meta: dict) -> None:
        name = self.filename_tmpl.format(step)
        old = self._too_old(runner, step)
        self._write(runner, name, meta)
        self._remove(old)

    def _too_old(self, runner, step: int) -> list[str]:
        """What can go once this step is written, and note what is kept."""
        names = []
        if self.max_keep_ckpts > 0:
            kept = [i for i in self.keep_ckpt_ids if i != step]
            surplus = max(len(kept) + 1 - self.max_keep_ckpts, 0)
            names = [self.filename_tmpl.format(i) for i in kept[:surplus]]
            self.keep_ckpt_ids.clear()
            self.keep_ckpt_ids.extend([*kept[surplus:], step])
            runner.message_hub.update_info('keep_ckpt_ids',
                                           list(self.keep_ckpt_ids))
        paths = [self.file_backend.join_path(self.out_dir, n) for n in names]
        return paths + self._inside_epochs()

    def _inside_epochs(self) -> list[str]:
        """What :meth:`save_now` has written between two epochs' ends."""
        if not (self.by_epoch and self._local):
            return []
        return [str(path) for path in Path(self.out_dir).glob('iter_*.pth')]

    def _remove(self, paths: Iterable[str]) -> None:
        if is_main_process():
            for path in paths:
                if self.file_backend.isfile(path):
                    self.file_backend.remove(path)

    def _write(self, runner, name: str, meta: dict) -> None:
        """Write a checkpoint; every rank must call it."""
        self._current = all_gather_object(get_random_state())
        self.last_ckpt = self.file_backend.join_path(self.out_dir, name)
        runner.message_hub.update_info('last_ckpt', self.last_ckpt)
        box = [None]
        try:
            runner.save_checkpoint(
                self.out_dir,
                name,
                save_optimizer=self.save_optimizer,
                save_param_scheduler=self.save_param_scheduler,
                meta=meta,
                by_epoch=self.by_epoch,
                backend_args=self.backend_args,
                **self.args)
            if is_main_process():
                if self._local:
                    check_plain(self.last_ckpt)
                write_text(
                    Path(runner.work_dir, 'last_checkpoint'), self.last_ckpt)
        except CheckpointError as error:
            box = [error]
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            box = [StorageError.of(error)]
        broadcast_object_list(box)  # so that no process waits for another
        if box[0] is not None:
            raise box[0]


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
