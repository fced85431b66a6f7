"""Importances that are gathered while a step is trained."""
import torch
from torch import Tensor, nn

from mmseg_spwc.consolidation import SynapticIntelligence, TaskStore

from .kinds import Importance, NamedTensors
from .step_data import StepData


class SynapticImportance(Importance):
    """The path integral of synaptic intelligence (Zenke et al., 2017).

    Args:
        xi (float): Damping. Defaults to 1e-3.
    """

    along_the_path = True

    def __init__(self, xi: float = 1e-3) -> None:
        self._path = SynapticIntelligence(xi)

    def begin(self, params: NamedTensors, store: TaskStore,
              step: int) -> None:
        self._path.begin_task(params)

    def begin_step(self, params: NamedTensors) -> None:
        self._path.begin_step(params)

    def after_step(self, params: NamedTensors) -> None:
        self._path.after_step(params)

    def estimate(self, model: nn.Module, params: NamedTensors,
                 data: StepData) -> dict[str, Tensor]:
        return self._path.consolidate(params)

    def state_dict(self) -> dict[str, Tensor]:
        return self._path.state_dict()

    def load_state_dict(self, state: NamedTensors) -> None:
        self._path.load_state_dict(state)


class RunningImportance(Importance):
    r"""Running mean of squared mini-batch gradients, as MiB and PLOP do.

    :math:`F \leftarrow \alpha g^2 + (1 - \alpha) F` at every optimiser step,
    from ones. It goes on over the steps; for the penalty every tensor is
    shifted and scaled to [0, 1]. This is EWC as the literature of continual
    segmentation runs it, not the Fisher information.

    Args:
        alpha (float): Weight of the newest gradient. Defaults to 0.9.
        eps (float): Guards the division by a tensor's range. Defaults to
            1e-8.
    """

    along_the_path = True

    def __init__(self, alpha: float = 0.9, eps: float = 1e-8) -> None:
        self.alpha = alpha
        self.eps = eps
        self._mean: dict[str, Tensor] = {}  # F

    def begin(self, params: NamedTensors, store: TaskStore,
              step: int) -> None:
        older = store.load(step - 1)[0] if step else {}
        self._mean = {
            name: older[name].to(param, copy=True)
            if name in older else torch.ones_like(param).detach()
            for name, param in params.items()
        }

    @torch.no_grad()
    def begin_step(self, params: NamedTensors) -> None:
        names = [
            name for name in self._mean if params[name].grad is not None
        ]
        means = [self._mean[name] for name in names]
        grads = [params[name].grad for name in names]
        torch._foreach_mul_(means, 1 - self.alpha)
        torch._foreach_addcmul_(means, grads, grads, self.alpha)

    def estimate(self, model: nn.Module, params: NamedTensors,
                 data: StepData) -> dict[str, Tensor]:
        if not self._mean:
            raise RuntimeError(
                'The running mean of gradients is missing: the step was not '
                'trained here. Train it, or use another kind of importance.')
        return dict(self._mean)

    def prepare(self, importances: NamedTensors) -> NamedTensors:
        return {
            name: (value - value.min()) /
            (value.max() - value.min() + self.eps)
            for name, value in importances.items()
        }

    def state_dict(self) -> dict[str, Tensor]:
        return dict(self._mean)

    def load_state_dict(self, state: NamedTensors) -> None:
        self._mean = {name: value.clone() for name, value in state.items()}
