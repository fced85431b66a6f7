"""Checkpoints inside a step that survive kills and full disks."""
from collections.abc import Iterable
from pathlib import Path

from mmengine.dist import broadcast_object_list, is_main_process
from mmengine.fileio import LocalBackend, register_backend
from mmengine.hooks import CheckpointHook

from mmseg_spwc.errors import NO_ROOM, CheckpointError, StorageError
from mmseg_spwc.registry import HOOKS
from mmseg_spwc.utils.files import atomic_path, write_text

from .resume_point import check_plain

ATOMIC = 'mmseg_spwc_atomic'


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
    """A ``CheckpointHook`` that never leaves a step without a checkpoint.

    A checkpoint appears under its name only when it is complete, and older
    ones are removed only after that; MMEngine does it the other way round.
    What was written is looked at once: a checkpoint that holds more than
    tensors, numbers and text is refused here, not when it is needed.

    Args:
        backend_args (dict, optional): As in ``CheckpointHook``. Defaults to
            the local disk, written atomically.
        **kwargs: The other arguments of ``CheckpointHook``.
    """

    def __init__(self, *args, backend_args: dict | None = None,
                 **kwargs) -> None:
        self._local = backend_args is None
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
