"""What a kind of importance does, and when."""
from collections.abc import Mapping

from torch import Tensor, nn

from mmseg_spwc.consolidation import TaskStore, fisher_sum, mas_sum
from mmseg_spwc.consolidation.fisher_labels import LABELS
from mmseg_spwc.labels import NOT_COUNTED

from .step_data import StepData, logits_of

NamedTensors = Mapping[str, Tensor]


class Importance:
    """A way to tell how much each parameter matters for a step.

    One step of the sequence reads::

        begin(params, store, step)
        for every optimiser step:
            begin_step(params)          # the loss's gradients
            after_step(params)          # the change really made
        estimate(model, params, data)   # goes to the store
        prepare(importances)            # in the next step, for the penalty

    Kinds that watch the training keep what they gathered in
    :meth:`state_dict`, which goes into the training checkpoints.
    """

    along_the_path = False  # whether training must be watched

    def begin(self, params: NamedTensors, store: TaskStore,
              step: int) -> None:
        pass

    def begin_step(self, params: NamedTensors) -> None:
        pass

    def after_step(self, params: NamedTensors) -> None:
        pass

    def estimate(self, model: nn.Module, params: NamedTensors,
                 data: StepData) -> dict[str, Tensor]:
        raise NotImplementedError

    def prepare(self, importances: NamedTensors) -> NamedTensors:
        return importances

    def state_dict(self) -> dict[str, Tensor]:
        return {}

    def load_state_dict(self, state: NamedTensors) -> None:
        pass


class FisherImportance(Importance):
    """Diagonal Fisher information at the end of the step (EWC).

    Args:
        labels (str): See :func:`mmseg_spwc.consolidation.fisher_diagonal`.
            Defaults to 'sample'.
    """

    def __init__(self, labels: str = 'sample') -> None:
        if labels not in LABELS:
            raise ValueError(f'importance.labels is one of '
                             f'{", ".join(LABELS)}, not {labels!r}.')
        self.labels = labels

    def estimate(self, model: nn.Module, params: NamedTensors,
                 data: StepData) -> dict[str, Tensor]:
        total = fisher_sum(model, data.batches(), self.labels, data.limit,
                           logits_of, NOT_COUNTED)
        return data.mean(total, params)


class MASImportance(Importance):
    """Sensitivity of the logits' squared norm at the end of the step."""

    def estimate(self, model: nn.Module, params: NamedTensors,
                 data: StepData) -> dict[str, Tensor]:
        total = mas_sum(model, data.batches(), data.limit, logits_of)
        return data.mean(total, params)
