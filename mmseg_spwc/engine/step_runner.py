"""MMEngine's Runner for one step of many."""
import contextlib
import gc
import logging
import resource
from collections.abc import Iterator

import torch
from mmengine.logging import MMLogger
from mmengine.runner import Runner

from mmseg_spwc.utils.display import quieten


class StepRunner(Runner):
    """A ``Runner`` that leaves a quiet terminal alone, and nothing behind."""

    def build_logger(self, *args, **kwargs) -> MMLogger:
        logger = super().build_logger(*args, **kwargs)
        quieten(logger)
        return logger

    def release(self) -> None:
        """Close the log file and forget logger, scalars and visualiser.

        MMEngine finds these by the name of the experiment and never drops
        them: a file, and the history of all losses, for every step of a
        sequence.
        """
        for handler in self.logger.handlers:
            if isinstance(handler, logging.FileHandler):
                handler.close()
        for shared in (self.logger, self.message_hub, self.visualizer):
            for kind in type(shared).__mro__:  # one may be its base's too
                instances = vars(kind).get('_instance_dict', {})
                instances.pop(shared.instance_name, None)


@contextlib.contextmanager
def frozen_heap() -> Iterator[None]:
    """Let the garbage collector look through what is made inside only.

    Torch and OpenMMLab make a million objects when they are imported; to
    look through them after every step takes a quarter of a second.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def free_memory() -> None:
    """Give back what no longer has an owner, and count peaks anew."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def peak_memory() -> int:
    """Peak bytes of this process: on the GPU if there is one."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
