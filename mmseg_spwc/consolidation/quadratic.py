"""One quadratic penalty for any number of past tasks."""
import math
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

NamedTensors = Mapping[str, Tensor] | Iterable[tuple[str, Tensor]]


class QuadraticPenalty:
    r"""The sum of the penalties of all past tasks, kept as one.

    .. math::
        \sum_t w_t \sum_i \Gamma_{t,i} (\theta_i - \theta^*_{t,i})^2
        = \sum_i A_i (\theta_i - c_i)^2 + \text{const}

    with the strength :math:`A = \sum_t w_t \Gamma_t` and the centre
    :math:`c = \sum_t w_t \Gamma_t \theta^*_t / A`. The two sides are equal, so
    a training step costs the same after one task and after a hundred.

    EWC takes :math:`w_t = \lambda v_t / 2` (eq. 4), MAS
    :math:`w_t = \gamma v_t` (eq. 3). :meth:`add` keeps one anchor per task;
    :meth:`add_online` keeps only the last, as online EWC, MAS and SI do.

    A and c are accumulated in float64 on the CPU and applied in the type and
    on the device of the parameters. Parameters without a penalty, such as a
    new head, are left alone.
    """

    def __init__(self) -> None:
        self._strength: dict[str, Tensor] = {}  # A
        self._centre: dict[str, Tensor] = {}  # c
        self._constant = 0.
        self._ready: dict[str, tuple[Tensor, Tensor]] = {}  # 2A and c, cast

    @torch.no_grad()
    def add(self, weight: float, importances: Mapping[str, Tensor],
            anchors: Mapping[str, Tensor]) -> None:
        """Add the penalty of one task.

        Args:
            weight: Strength of the task, for instance lambda * v / 2.
            importances: Importance of each parameter, not negative.
            anchors: Parameters at the end of the task; names without an
                importance are ignored.
        """
        self._check_task(weight, importances, anchors)
        if weight == 0:
            return
        for name, gamma in importances.items():
            strength, anchor = weight * _master(gamma), _master(anchors[name])
            centre = self._centre.setdefault(name, anchor)
            before = self._strength.get(name, torch.zeros_like(strength))
            total = before + strength
            share = torch.where(total > 0, strength / total, 0.)
            shift = anchor - centre
            # parallel axes: every term is positive, nothing cancels
            self._constant += (before * share * shift**2).sum().item()
            self._centre[name] = centre + share * shift
            self._strength[name] = total
            self._ready.pop(name, None)

    @torch.no_grad()
    def add_online(self,
                   weight: float,
                   importances: Mapping[str, Tensor],
                   anchors: Mapping[str, Tensor],
                   decay: float = 1.) -> None:
        r"""Fold one task into :math:`A \leftarrow \gamma A + w\Gamma`.

        The centre becomes the newest anchor. Online EWC with its decay inside
        the penalty as well is ``weight=decay * lam / 2``.

        Args:
            weight: Strength of the task.
            importances: Importance of each parameter, not negative.
            anchors: Parameters at the end of the task.
            decay: :math:`\gamma`, how much of the older strength remains.
        """
        if not decay >= 0:
            raise ValueError(f'decay must not be negative, got {decay}')
        self._check_task(weight, importances, anchors)
        for name, strength in self._strength.items():
            self._strength[name] = decay * strength
        for name, gamma in importances.items():
            strength = weight * _master(gamma)
            self._strength[name] = strength + self._strength.get(name, 0.)
        for name in self._strength:
            if name in anchors:
                self._centre[name] = _master(anchors[name])
        self._constant = 0.
        self._ready.clear()

    def value(self, named_params: NamedTensors) -> Tensor:
        """The penalty as a scalar, differentiable in the parameters."""
        params, curvatures, centres = self._matched(named_params)
        if not params:
            return torch.tensor(self._constant)
        shifts = torch._foreach_sub(params, centres)
        terms = [
            torch.dot((h * d).flatten(), d.flatten())
            for h, d in zip(curvatures, shifts, strict=True)
        ]
        return 0.5 * torch.stack(terms).sum() + self._constant

    @torch.no_grad()
    def add_gradient_(self, named_params: NamedTensors) -> None:
        """Add :math:`2A(\\theta - c)` to the gradients that exist.

        A gradient that is None stays None: creating one would switch on the
        momentum and weight decay of a head that is not being trained.
        """
        params, curvatures, centres = self._matched(
            (name, param) for name, param in _items(named_params)
            if param.grad is not None)
        if params:
            shifts = torch._foreach_sub(params, centres)
            grads = [param.grad for param in params]
            torch._foreach_addcmul_(grads, shifts, curvatures)

    @torch.no_grad()
    def proximal_(self,
                  named_params: NamedTensors,
                  lr: float,
                  momentum: float = 0.) -> None:
        r"""Move every given parameter towards c, after the optimiser step.

        :math:`\theta \leftarrow (\theta + s c) / (1 + s)` with
        :math:`s = 2 A \,\mathrm{lr} / (1 - \beta)`, the implicit form of the
        gradient step. It is stable for any strength.
        """
        params, curvatures, centres = self._matched(named_params)
        if params:
            pulls = torch._foreach_sub(centres, params)
            steps = torch._foreach_mul(curvatures, lr / (1 - momentum))
            torch._foreach_mul_(pulls, steps)
            torch._foreach_add_(steps, 1.)
            torch._foreach_addcdiv_(params, pulls, steps)

    def max_curvature(self) -> float:
        """The largest second derivative of the penalty, max of 2A."""
        return max((2 * strength.max().item()
                    for strength in self._strength.values()
                    if strength.numel()), default=0.)

    def largest_safe_weight(self, lr: float, momentum: float = 0.) -> float:
        r"""The factor on all weights at which gradient steps stop converging.

        SGD with momentum :math:`\beta` needs :math:`\mathrm{lr} \max 2A
        < 2(1 + \beta)`. Below 1 the present weights are too large: multiply
        lambda by it at most, or use :meth:`proximal_`.
        """
        steepest = lr * self.max_curvature()
        return 2 * (1 + momentum) / steepest if steepest else math.inf

    def check(self, named_params: NamedTensors) -> None:
        """Refuse a model that lacks penalised parameters or reshaped them."""
        params = dict(_items(named_params))
        absent = [name for name in self._strength if name not in params]
        if absent:
            raise KeyError(
                f'the penalty holds parameters the model lacks: {absent}; '
                'it was built for another architecture or the names carry a '
                'prefix such as "module."')
        self._matched(params)

    def state_dict(self) -> dict[str, Tensor]:
        """Plain tensors: ``strength.NAME``, ``centre.NAME``, ``constant``."""
        state = {'constant': torch.tensor(self._constant, dtype=torch.float64)}
        for name, strength in self._strength.items():
            state[f'strength.{name}'] = strength
            state[f'centre.{name}'] = self._centre[name]
        return state

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore what :meth:`state_dict` gave."""
        names = [
            key.removeprefix('strength.') for key in state
            if key.startswith('strength.')
        ]
        self._constant = float(state['constant'])
        self._strength = {n: _master(state[f'strength.{n}']) for n in names}
        self._centre = {n: _master(state[f'centre.{n}']) for n in names}
        self._ready.clear()

    def _check_task(self, weight: float, importances: Mapping[str, Tensor],
                    anchors: Mapping[str, Tensor]) -> None:
        if not 0 <= weight < math.inf:
            raise ValueError(
                f'weight must be finite and not negative, got {weight}')
        for name, gamma in importances.items():
            if name not in anchors:
                raise KeyError(f'{name!r} has an importance but no anchor')
            if not ((gamma >= 0) & gamma.isfinite()).all():
                raise ValueError(
                    f'the importances of {name!r} must be finite and not '
                    'negative')
            _check_shape(name, anchors[name], gamma)
        for name, strength in self._strength.items():
            _check_shape(name, importances.get(name, strength), strength)
            _check_shape(name, anchors.get(name, strength), strength)

    def _matched(
        self, named_params: NamedTensors
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """Penalised parameters with their 2A and c in the same type."""
        params, curvatures, centres = [], [], []
        for name, param in _items(named_params):
            if name not in self._strength:
                continue
            curvature, centre = self._cast(name, param)
            params.append(param)
            curvatures.append(curvature)
            centres.append(centre)
        return params, curvatures, centres

    def _cast(self, name: str, param: Tensor) -> tuple[Tensor, Tensor]:
        ready = self._ready.get(name)
        if ready is None or (ready[0].dtype, ready[0].device) != (
                param.dtype, param.device):
            ready = ((2 * self._strength[name]).to(param),
                     self._centre[name].to(param))
            self._ready[name] = ready
        _check_shape(name, param, ready[0])
        return ready


def _items(named: NamedTensors) -> Iterable[tuple[str, Tensor]]:
    return named.items() if isinstance(named, Mapping) else named


def _master(tensor: Tensor) -> Tensor:
    """A float64 copy on the CPU."""
    return tensor.detach().to('cpu', torch.float64, copy=True)


def _check_shape(name: str, tensor: Tensor, penalised: Tensor) -> None:
    if tensor.shape != penalised.shape:
        raise ValueError(
            f'{name!r} has shape {tuple(tensor.shape)} but its penalty has '
            f'{tuple(penalised.shape)}; a parameter that grew needs a name '
            'of its own, or no penalty')
