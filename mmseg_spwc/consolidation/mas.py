"""Memory aware synapses: importance is sensitivity of the outputs."""
from collections.abc import Iterable

from torch import Tensor, nn

from .importance import (
    Batch,
    Importance,
    NamedTensors,
    StepSamples,
    importance_sum,
)
from .per_sample import ABSOLUTE, Forward


class MASImportance(Importance):
    """:func:`mas_importance` at the end of a step."""

    def estimate(self, model: nn.Module, params: NamedTensors,
                 data: StepSamples) -> dict[str, Tensor]:
        return data.mean(
            importance_sum(model, data.batches(), _of_squared_norm, ABSOLUTE,
                           data.limit, data.forward), params)


def mas_importance(model: nn.Module,
                   batches: Iterable[Batch],
                   n_samples: int | None = None,
                   forward: Forward | None = None) -> dict[str, Tensor]:
    r"""Memory aware synapses (Aljundi et al., 2018):
    :math:`E|\partial_\theta \|f(x)\|_2^2|`, from per-sample gradients.

    Needs no labels. See :func:`fisher_diagonal` for the arguments.

    Returns:
        dict: Importance of every parameter that requires a gradient.
    """
    return importance_sum(model, batches, _of_squared_norm, ABSOLUTE,
                          n_samples, forward).mean()


def _of_squared_norm(logits: Tensor, labels: Tensor | None) -> list[Tensor]:
    return [2 * logits]
