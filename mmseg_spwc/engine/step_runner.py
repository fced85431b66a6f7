"""MMEngine's Runner for one step of many."""
import contextlib
import functools
import io
import logging
from collections.abc import Mapping

from mmengine.config import Config
from mmengine.logging import MessageHub, MMLogger
from mmengine.registry import VISUALIZERS
from mmengine.runner import Runner
from mmengine.visualization import Visualizer
from torch import nn

from mmseg_spwc.errors import input_errors
from mmseg_spwc.runtime.checkpoint import tensors_only
from mmseg_spwc.runtime.memory import keep_memory
from mmseg_spwc.terminal import quieten
from mmseg_spwc.trackers import SequenceVisBackend

from .context import StepContext
from .histories import with_growing_histories


class StepRunner(Runner):
    """A ``Runner`` that leaves a quiet terminal alone, and nothing behind."""

    context: StepContext | None = None

    @classmethod
    def of(cls, cfg: Config, context: StepContext | None = None
           ) -> 'StepRunner':
        """Build the runner of a step."""
        keep_memory()
        with input_errors('config'):
            runner = cls.from_cfg(cfg)
        runner.context = context
        for backend in runner.visualizer._vis_backends.values():
            if context and isinstance(backend, SequenceVisBackend):
                backend.go_on(context.step, context.iterations_before)
        return runner

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
