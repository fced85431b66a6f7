"""Memory aware synapses: importance is sensitivity of the outputs."""
from collections.abc import Iterable

from torch import Tensor, nn

from mmseg_spwc.registry import IMPORTANCES

from .gradient_sums import ABSOLUTE, Forward
from .importance import Importance, NamedTensors, StepSamples
from .sample_mean import Batch, ImportanceSum, importance_sum


@IMPORTANCES.register_module()
class MASImportance(Importance):
    """:func:`mas_importance` at the end of a step."""

    def estimate(self, model: nn.Module, params: NamedTensors,
                 data: StepSamples) -> dict[str, Tensor]:
        total = mas_sum(model, data.batches(), data.limit, data.forward)
        return data.mean(total, params)


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
    return mas_sum(model, batches, n_samples, forward).mean()


def mas_sum(model: nn.Module,
            batches: Iterable[Batch],
            n_samples: int | None = None,
            forward: Forward | None = None) -> ImportanceSum:
    """:func:`mas_importance` as sums and count."""
    return importance_sum(model, batches, _of_squared_norm, ABSOLUTE,
                          n_samples, forward)


def _of_squared_norm(logits: Tensor, labels: Tensor | None) -> list[Tensor]:
    return [2 * logits]
