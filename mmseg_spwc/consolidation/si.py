"""Synaptic intelligence (Zenke et al., 2017): importance along the path."""
import torch
from torch import Tensor, nn

from .importance import Importance, NamedTensors, StepSamples
from .store import StepStore


class SIImportance(Importance):
    r"""How much each parameter lowered the loss while a step was trained.

    .. math::
        \omega_i = -\sum_{\text{updates}} g_i \Delta\theta_i, \qquad
        \Omega_i = \frac{\max(\omega_i, 0)}
        {(\theta_i - \theta_i^{start})^2 + \xi}

    :math:`g` is the gradient of the step's own loss, without any penalty, and
    :math:`\Delta\theta` the change really made. The importances add up over
    the steps, around the newest parameters (:class:`OnlineForm`).

    Args:
        xi: Damping :math:`\xi`; 0.1 suits MNIST, 1e-3 convolutional networks.
    """

    along_the_path = True

    def __init__(self, xi: float = 1e-3) -> None:
        if not xi > 0:
            raise ValueError(f'xi must be positive, got {xi}')
        self.xi = xi
        self._start: dict[str, Tensor] = {}
        self._omega: dict[str, Tensor] = {}
        self._before: dict[str, tuple[Tensor, Tensor]] = {}

    @torch.no_grad()
    def begin(self, params: NamedTensors, store: StepStore,
              step: int) -> None:
        self._start = {n: p.detach().clone() for n, p in params.items()}
        self._omega = {n: torch.zeros_like(p) for n, p in params.items()}
        self._before = {}

    @torch.no_grad()
    def before_update(self, params: NamedTensors) -> None:
        self._before = {
            name: (param.grad.clone(), param.detach().clone())
            for name, param in params.items()
            if param.grad is not None and name in self._omega
        }

    @torch.no_grad()
    def after_update(self, params: NamedTensors) -> None:
        if not self._before:
            return
        grads, before = zip(*self._before.values(), strict=True)
        retreats = torch._foreach_sub(
            list(before), [params[name] for name in self._before])
        torch._foreach_addcmul_([self._omega[name] for name in self._before],
                                list(grads), retreats)
        self._before = {}

    @torch.no_grad()
    def estimate(self, model: nn.Module, params: NamedTensors,
                 data: StepSamples) -> dict[str, Tensor]:
        if not self._omega:
            raise RuntimeError('begin was not called before the step')
        return {
            name: (omega / ((params[name] - self._start[name])**2 + self.xi)
                   ).clamp(min=0)
            for name, omega in self._omega.items()
        }

    def state_dict(self) -> dict[str, Tensor]:
        """Plain tensors: ``start.NAME`` and ``omega.NAME``."""
        return {f'start.{name}': value for name, value in self._start.items()
                } | {f'omega.{name}': value
                     for name, value in self._omega.items()}

    def load_state_dict(self, state: NamedTensors) -> None:
        self._start, self._omega = (
            {key.removeprefix(kind): value.clone()
             for key, value in state.items() if key.startswith(kind)}
            for kind in ('start.', 'omega.'))
        self._before = {}
