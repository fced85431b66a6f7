"""Synaptic intelligence (Zenke et al., 2017): importance along the path."""
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

NamedTensors = Mapping[str, Tensor] | Iterable[tuple[str, Tensor]]


class SynapticIntelligence:
    r"""How much each parameter lowered the loss while a task was learnt.

    .. math::
        \omega_i = -\sum_{\text{steps}} g_i \Delta\theta_i, \qquad
        \Omega_i = \frac{\omega_i}{(\theta_i - \theta_i^{start})^2 + \xi}

    :math:`g` is the gradient of the task's own loss and :math:`\Delta\theta`
    the change the optimiser really made. One step of training reads::

        loss.backward()
        si.begin_step(params)       # before any penalty enters the gradients
        penalty.add_gradient_(params)
        optimizer.step()
        si.after_step(params)

    Args:
        xi: Damping :math:`\xi`; 0.1 suits MNIST, 1e-3 convolutional networks.
        clip: Set negative importances to zero. Without it the result may not
            be used in a quadratic penalty.
    """

    def __init__(self, xi: float = 0.1, clip: bool = True) -> None:
        if not xi > 0:
            raise ValueError(f'xi must be positive, got {xi}')
        self.xi = xi
        self.clip = clip
        self._start: dict[str, Tensor] = {}
        self._omega: dict[str, Tensor] = {}
        self._before: dict[str, tuple[Tensor, Tensor]] = {}

    @torch.no_grad()
    def begin_task(self, named_params: NamedTensors) -> None:
        """Forget the last path and start here, with these parameters."""
        params = dict(named_params)
        self._start = {n: p.detach().clone() for n, p in params.items()}
        self._omega = {n: torch.zeros_like(p) for n, p in params.items()}
        self._before = {}

    @torch.no_grad()
    def begin_step(self, named_params: NamedTensors) -> None:
        """Keep gradients and parameters as they are before the update."""
        self._before = {
            name: (param.grad.clone(), param.detach().clone())
            for name, param in dict(named_params).items()
            if param.grad is not None and name in self._omega
        }

    @torch.no_grad()
    def after_step(self, named_params: NamedTensors) -> None:
        """Credit the change since :meth:`begin_step` to the gradients."""
        if not self._before:
            return
        params = dict(named_params)
        grads, before = zip(*self._before.values(), strict=True)
        retreats = torch._foreach_sub(
            list(before), [params[name] for name in self._before])
        torch._foreach_addcmul_([self._omega[name] for name in self._before],
                                list(grads), retreats)
        self._before = {}

    @torch.no_grad()
    def consolidate(self, named_params: NamedTensors) -> dict[str, Tensor]:
        """The importances of the task that ends now.

        They add up over tasks, around the newest parameters: see
        :meth:`QuadraticPenalty.add_online`. Call :meth:`begin_task` before
        the next task.

        Returns:
            dict: Importance by parameter name.
        """
        if not self._omega:
            raise RuntimeError('begin_task was not called before the task')
        params = dict(named_params)
        importances = {}
        for name, omega in self._omega.items():
            moved = params[name] - self._start[name]
            importance = omega / (moved**2 + self.xi)
            importances[name] = importance.clamp(
                min=0) if self.clip else importance
        return importances

    def state_dict(self) -> dict[str, Tensor]:
        """Plain tensors: ``start.NAME`` and ``omega.NAME``."""
        return {
            f'{kind}.{name}': value
            for kind, values in (('start', self._start),
                                 ('omega', self._omega))
            for name, value in values.items()
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore what :meth:`state_dict` gave."""
        for kind, values in (('start', self._start), ('omega', self._omega)):
            values.clear()
            values.update({
                key.removeprefix(f'{kind}.'): value.clone()
                for key, value in state.items()
                if key.startswith(f'{kind}.')
            })
        self._before = {}
