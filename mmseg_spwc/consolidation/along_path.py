"""Importances that are gathered while a step is trained."""
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

    def begin(self, params: NamedTensors, store: StepStore, step: int) -> None:
        older = store.load(step - 1)[0] if step else {}
        self._mean = {
            name: older[name].to(param, copy=True) if name in older else
            torch.ones_like(param).detach() for name, param in params.items()}

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
    def begin(self, params: NamedTensors, store: StepStore, step: int) -> None:
        self._start = {n: p.detach().clone() for n, p in params.items()}
        self._omega = {n: torch.zeros_like(p) for n, p in params.items()}
        self._before = {}

    @torch.no_grad()
    def before_update(self, params: NamedTensors) -> None:
        self._before = {name: (param.grad.clone(), param.detach().clone())
                        for name, param in params.items()
                        if param.grad is not None and name in self._omega}

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
        return {f'{kind}.{name}': value
                for kind, own in (('start', self._start),
                                  ('omega', self._omega))
                for name, value in own.items()}

    def load_state_dict(self, state: NamedTensors) -> None:
        self._start, self._omega = (
            {key.removeprefix(kind): value.clone()
             for key, value in state.items() if key.startswith(kind)}
            for kind in ('start.', 'omega.'))
        self._before = {}
