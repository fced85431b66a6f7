"""Losses name what they need; a batch computes it once, on demand."""
import functools
import inspect

from torch import nn


class LossRequests:
    """The quantities of one batch, by the names that losses ask for them.

    A loss names what it needs as the arguments of its ``forward``, as a test
    names its fixtures::

        class UnbiasedDistillationLoss(nn.Module):
            def forward(self, logits, old_logits): ...

    The properties of a subclass are what it provides. Every quantity should
    be computed at most once, and not at all when no loss asks for it:
    without distillation there is no forward pass of the teacher.

    Args:
        student: The model in training, a
            :class:`~mmseg_spwc.models.student.Student`.
    """

    provider = 'model'  # what error messages call the student

    def __init__(self, student: nn.Module) -> None:
        self._student = student

    def call(self, loss: nn.Module):
        """Call a loss with the quantities its ``forward`` asks for."""
        names = self.argument_names(loss)
        return loss(**{name: getattr(self, name) for name in names})

    @classmethod
    def argument_names(cls, loss: nn.Module) -> tuple:
        """Return what a loss asks for; raise if nobody provides it."""
        return _checked_names(cls, type(loss))

    @property
    def num_new(self) -> int:
        """Channels that this step added."""
        return self._student.channels[-1]

    @property
    def num_old(self) -> int:
        """Channels of the previous model."""
        return sum(self._student.channels[:-1])

    @property
    def _teacher(self) -> nn.Module:
        if self._student.teacher is None:
            raise RuntimeError(
                'A loss asks for the previous model, but there is none: at '
                'the first step use losses that do not distil.')
        return self._student.teacher


@functools.cache
def _checked_names(cls: type, loss: type) -> tuple:
    names = tuple(inspect.signature(loss.forward).parameters)[1:]
    known = _provided(cls)
    for name in names:
        if name not in known:
            raise TypeError(
                f'{loss.__name__}.forward asks for {name!r}, which no '
                f'{cls.provider} provides; known are {", ".join(known)}.')
    return names


def _provided(cls: type) -> list:
    kinds = property, functools.cached_property
    return [
        name for name, value in inspect.getmembers(cls)
        if isinstance(value, kinds) and not name.startswith('_')
    ]
