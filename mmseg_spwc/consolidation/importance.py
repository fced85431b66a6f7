"""What a kind of importance does, and when."""
from collections.abc import Iterator, Mapping
from typing import Protocol

from torch import Tensor, nn

from .sample_mean import ImportanceSum
from .store import StepStore

NamedTensors = Mapping[str, Tensor]


class StepSamples(Protocol):
    """The training data of a step, as an importance may see it.

    Attributes:
        limit: Number of samples to use at most, or None.
    """
    limit: int | None

    def batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Inputs and labels, of which ``NOT_COUNTED`` is none."""

    def forward(self, model: nn.Module, inputs: Tensor) -> Tensor:
        """The model's outputs, (B, C) or (B, C, h, w)."""

    def mean(self, total: ImportanceSum,
             params: NamedTensors) -> dict[str, Tensor]:
        """Divide sums by counts, both added up over the processes."""


class Importance:
    """A way to tell how much each parameter matters for a step.

    One step of the sequence reads::

        begin(params, store, step)
        for every update of the optimiser:
            before_update(params)       # the loss's gradients
            after_update(params)        # the change really made
        estimate(model, params, data)   # goes to the store
        prepare(importances)            # in later steps, for the penalty

    A kind implements :meth:`estimate` and is registered in ``IMPORTANCES``.
    Kinds that watch the training set ``along_the_path`` and keep what they
    gathered in :meth:`state_dict`, which goes into the training checkpoints.
    """

    along_the_path = False  # whether the training must be watched

    def begin(self, params: NamedTensors, store: StepStore,
              step: int) -> None:
        """The training of ``step`` starts; ``store`` has the steps before."""

    def before_update(self, params: NamedTensors) -> None:
        """The gradients of the loss are complete, a penalty's not added."""

    def after_update(self, params: NamedTensors) -> None:
        """The optimiser and the penalty have moved the parameters."""

    def estimate(self, model: nn.Module, params: NamedTensors,
                 data: StepSamples) -> dict[str, Tensor]:
        """Importance of every parameter, not negative, by name."""
        raise NotImplementedError

    def prepare(self, importances: NamedTensors) -> NamedTensors:
        """What enters the penalty of a stored step."""
        return importances

    def state_dict(self) -> dict[str, Tensor]:
        """What was gathered so far, as plain tensors."""
        return {}

    def load_state_dict(self, state: NamedTensors) -> None:
        """Restore what :meth:`state_dict` gave."""
