"""Running mean of squared gradients, the "EWC" of MiB and PLOP."""
import torch
from torch import Tensor, nn

from .importance import Importance, NamedTensors, StepSamples
from .store import StepStore


class EMAImportance(Importance):
    r"""Running mean of squared mini-batch gradients, as MiB and PLOP do.

    :math:`F \leftarrow \alpha g^2 + (1 - \alpha) F` at every update of the
    optimiser, from ones. It goes on over the steps; for the penalty every
    tensor is shifted and scaled to [0, 1]. This is EWC as the literature of
    continual segmentation runs it, not the Fisher information.

    Args:
        alpha: Weight of the newest gradient.
        eps: Guards the division by a tensor's range.
    """

    along_the_path = True

    def __init__(self, alpha: float = 0.9, eps: float = 1e-8) -> None:
        self.alpha = alpha
        self.eps = eps
        self._mean: dict[str, Tensor] = {}  # F

    def begin(self, params: NamedTensors, store: StepStore,
              step: int) -> None:
        older = store.load(step - 1)[0] if step else {}
        self._mean = {
            name: older[name].to(param, copy=True)
            if name in older else torch.ones_like(param).detach()
            for name, param in params.items()
        }

    @torch.no_grad()
    def before_update(self, params: NamedTensors) -> None:
        found = [(mean, params[name].grad) for name, mean in
                 self._mean.items() if params[name].grad is not None]
        if found:
            means, grads = zip(*found, strict=True)
            torch._foreach_mul_(means, 1 - self.alpha)
            torch._foreach_addcmul_(means, grads, grads, self.alpha)

    def estimate(self, model: nn.Module, params: NamedTensors,
                 data: StepSamples) -> dict[str, Tensor]:
        if not self._mean:
            raise RuntimeError(
                'The running mean of gradients is missing: the step was not '
                'trained here. Train it, or use another kind of importance.')
        return dict(self._mean)

    def prepare(self, importances: NamedTensors) -> NamedTensors:
        return {name: (v - v.min()) / (v.max() - v.min() + self.eps)
                for name, v in importances.items()}

    def state_dict(self) -> dict[str, Tensor]:
        return dict(self._mean)

    def load_state_dict(self, state: NamedTensors) -> None:
        self._mean = {name: value.clone() for name, value in state.items()}
