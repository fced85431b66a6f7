"""MMEngine's Runner for one step of many."""
import contextlib
import ctypes
import functools
import gc
import io
import logging
import os
import resource
from collections.abc import Iterator, Mapping

import torch
from mmengine.logging import MessageHub, MMLogger
from mmengine.registry import VISUALIZERS
from mmengine.runner import Runner
from mmengine.visualization import Visualizer
from torch import nn

from mmseg_spwc.terminal import quieten

from .checkpoint import tensors_only
from .histories import with_growing_histories


class StepRunner(Runner):
    """A ``Runner`` that leaves a quiet terminal alone, and nothing behind."""

    def build_logger(self, *args, **kwargs) -> MMLogger:
        logger = super().build_logger(*args, **kwargs)
        quieten(logger)
        return logger

    def build_message_hub(self, message_hub: dict | None = None) -> MessageHub:
        return with_growing_histories(super().build_message_hub(message_hub))

    def build_visualizer(self, visualizer=None) -> Visualizer:
        """As MMEngine does, but without a figure until one is drawn."""
        if isinstance(visualizer, Mapping):
            kind = visualizer.get('type', 'Visualizer')
            with VISUALIZERS.switch_scope_and_registry(None) as registry:
                found = registry.get(kind) if isinstance(kind, str) else kind
            if found is not None:  # else MMEngine says what is wrong
                visualizer = dict(visualizer, type=late_figure(found))
        return super().build_visualizer(visualizer)

    def build_model(self, model: nn.Module | dict) -> nn.Module:
        """As MMEngine does, but weights that it fetches are tensors only."""
        with tensors_only():
            return super().build_model(model)

    def load_checkpoint(self, *args, **kwargs) -> dict:
        """As MMEngine does, but what it prints goes to the log."""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            checkpoint = super().load_checkpoint(*args, **kwargs)
        self.logger.info(printed.getvalue().strip())
        return checkpoint

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


@functools.cache
def late_figure(kind: type[Visualizer]) -> type[Visualizer]:
    """Let a visualiser make its figure when an image is given to it.

    To import matplotlib takes a second, and most runs log numbers alone.

    Args:
        kind (type[Visualizer]): MMEngine's visualiser, or one made of it.
    """

    class Late(kind):

        def _initialize_fig(self, fig_cfg: dict) -> tuple:
            return None, _NoFigure(), None

        def set_image(self, image) -> None:
            if isinstance(self.fig_save, _NoFigure):
                self.fig_save_canvas, self.fig_save, self.ax_save = \
                    super()._initialize_fig(self.fig_save_cfg)
                self.dpi = self.fig_save.get_dpi()
            super().set_image(image)

    Late.__name__ = kind.__name__
    return Late


class _NoFigure:

    def get_dpi(self) -> None:
        """Asked for at once, used with a figure only."""


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


# of <malloc.h>, and the largest that can be asked for
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _LARGEST = -1, -3, 2**31 - 1


def keep_memory() -> None:
    """Let freed memory of this process wait for the next iteration.

    glibc gives what an iteration frees back to the system, and the next one
    gets it again page by page, which takes 3 to 15 % of the CPU time of a
    small segmentation network; peaks were 4 % higher at most. Nothing happens
    with another C library, or where the environment says when to give memory
    back (``MALLOC_TRIM_THRESHOLD_``, ``MALLOC_MMAP_THRESHOLD_``).
    """
    mallopt = getattr(ctypes.CDLL(None), 'mallopt', None)
    if mallopt is None or any(
            f'MALLOC_{what}_THRESHOLD_' in os.environ
            for what in ('TRIM', 'MMAP')):
        return
    mallopt(_M_MMAP_THRESHOLD, _LARGEST)
    mallopt(_M_TRIM_THRESHOLD, _LARGEST)


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
