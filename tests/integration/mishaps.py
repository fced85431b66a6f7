"""Hooks that do harm in the middle of the second epoch."""
import multiprocessing
import os
import signal
from pathlib import Path

from mmengine.hooks import Hook

from mmseg_spwc.registry import HOOKS


class Mishap(Hook):
    """Does its harm after the first iteration of the second epoch."""

    def before_train_iter(self, runner, batch_idx, data_batch=None):
        if (runner.epoch, batch_idx) == (1, 1):
            self.harm()


@HOOKS.register_module()
class RemoveImages(Mishap):
    """Workers read ahead, so that one image may have been read already."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def harm(self):
        self.folder.rename(self.folder.with_suffix('.gone'))


@HOOKS.register_module()
class KillWorkers(Mishap):

    def harm(self):
        for worker in multiprocessing.active_children():
            os.kill(worker.pid, signal.SIGKILL)
