"""One quadratic penalty for any number of past steps."""
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

NamedTensors = Mapping[str, Tensor] | Iterable[tuple[str, Tensor]]
# weight, importances, anchors
Step = tuple[float, Mapping[str, Tensor], Mapping[str, Tensor]]

Term = tuple[float, Tensor, Tensor]  # the same of one parameter

GROUP = 32  # steps that are held at once
BLOCK = 2**16  # numbers in work at a time, so that a cache holds all of them


class QuadraticPenalty:
    r"""The sum of the penalties of all past steps, kept as one.

    .. math::
        \sum_t w_t \sum_i \Gamma_{t,i} (\theta_i - \theta^*_{t,i})^2
        = \sum_i A_i (\theta_i - c_i)^2 + \text{const}

    with the strength :math:`A = \sum_t w_t \Gamma_t` and the centre
    :math:`c = \sum_t w_t \Gamma_t \theta^*_t / A`. The two sides are equal, so
    an iteration costs the same after one step and after a thousand.

    EWC takes :math:`w_t = \lambda v_t / 2` (eq. 4), MAS
    :math:`w_t = \gamma v_t` (eq. 3). :meth:`add` keeps one anchor per step;
    :meth:`add_online` keeps only the last, as online EWC, MAS and SI do.

    A and c are summed in float64 on the CPU and applied in the type and on the
    device of the parameters; those without a penalty are left alone.
    """

    def __init__(self) -> None:
        self._strength: dict[str, Tensor] = {}  # A
        self._centre: dict[str, Tensor] = {}  # c
        self._constant = 0.
        self._ready: dict[str, tuple[Tensor, Tensor]] = {}  # 2A and c, cast
        self._shares: dict[int, tuple[list, float, list]] = {}

    def add(self, weight: float, importances: Mapping[str, Tensor],
            anchors: Mapping[str, Tensor]) -> None:
        """Add the penalty of one step: its weight, such as lambda * v / 2,
        its importances and the parameters at its end."""
        self.add_all([(weight, importances, anchors)])

    @torch.no_grad()
    def add_all(self, steps: Iterable[Step]) -> None:
        """Add many steps, quicker than one by one; they may come from files.
        """
        steps = iter(steps)
        while group := list(itertools.islice(steps, GROUP)):
            terms: dict[str, list[Term]] = {}
            for weight, importances, anchors in group:
                self._check_step(weight, importances, anchors)
                for name, gamma in importances.items() if weight else ():
                    terms.setdefault(name, []).append(
                        (weight, gamma, anchors[name]))
                    self._strength.setdefault(name, _zeros(gamma))
                    self._centre.setdefault(name, _master(anchors[name]))
            for name, own in terms.items():
                self._constant += accumulate_(
                    self._strength[name], self._centre[name], own)
                self._ready.pop(name, None)
            self._shares.clear()

    @torch.no_grad()
    def add_online(self, weight: float, importances: Mapping[str, Tensor],
                   anchors: Mapping[str, Tensor], decay: float = 1.) -> None:
        r"""Add one step, :math:`A \leftarrow \gamma A + w\Gamma`.

        The centre becomes the newest anchor. Online EWC with its decay inside
        the penalty as well is ``weight=decay * lam / 2``.
        """
        if not decay >= 0:
            raise ValueError(f'decay must not be negative, got {decay}')
        self._check_step(weight, importances, anchors)
        for strength in self._strength.values():
            strength.mul_(decay)
        for name, gamma in importances.items():
            strength = self._strength.setdefault(name, _zeros(gamma))
            strength.add_(_master(gamma).mul_(weight))
        for name in self._strength:
            if name in anchors:
                self._centre[name] = _master(anchors[name])
        self._constant = 0.
        self._ready.clear()
        self._shares.clear()

    def value(self, named_params: NamedTensors) -> Tensor:
        """The penalty as a scalar, differentiable in the parameters."""
        params, curvatures, centres = self._matched(named_params)
        if not params:
            return torch.tensor(self._constant)
        shifts = torch._foreach_sub(params, centres)
        terms = [torch.dot((h * d).flatten(), d.flatten())
                 for h, d in zip(curvatures, shifts, strict=True)]
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
    def proximal_(self, named_params: NamedTensors, lr: float,
                  momentum: float = 0.) -> None:
        r"""Move every given parameter towards c, after the optimiser step.

        :math:`\theta \leftarrow (\theta + s c) / (1 + s)` with
        :math:`s = 2 A \,\mathrm{lr} / (1 - \beta)`, the implicit form of the
        gradient step. It is stable for any strength.
        """
        params, curvatures, centres = self._matched(named_params)
        if params:
            shares = self._shares_of(curvatures, lr / (1 - momentum))
            torch._foreach_lerp_(params, centres, shares)

    def _shares_of(self, curvatures: list[Tensor], rate: float) -> list:
        """The parts s / (1 + s) of the way to c, kept while lr is, for each
        of the optimiser's groups."""
        kept, kept_rate, shares = self._shares.get(
            id(curvatures[0]), ([], rate, []))
        if rate != kept_rate or [*map(id, kept)] != [*map(id, curvatures)]:
            shares = torch._foreach_mul(curvatures, rate)
            torch._foreach_div_(shares, torch._foreach_add(shares, 1.))
            self._shares[id(curvatures[0])] = curvatures, rate, shares
        return shares

    def largest_safe_weight(self, lr: float, momentum: float = 0.) -> float:
        r"""The factor on all weights at which gradient steps stop converging.

        SGD with momentum :math:`\beta` needs :math:`\mathrm{lr} \max 2A
        < 2(1 + \beta)`. Below 1 the present weights are too large: multiply
        lambda by it at most, or use :meth:`proximal_`.
        """
        steepest = lr * max((2 * strength.max().item()
                             for strength in self._strength.values()
                             if strength.numel()), default=0.)
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
        """``strength.NAME``, ``centre.NAME`` and ``constant``."""
        state = {'constant': torch.tensor(self._constant, dtype=torch.float64)}
        for name, strength in self._strength.items():
            state[f'strength.{name}'] = strength
            state[f'centre.{name}'] = self._centre[name]
        return state

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore what :meth:`state_dict` gave."""
        names = [key.removeprefix('strength.') for key in state
                 if key.startswith('strength.')]
        self._constant = float(state['constant'])
        self._strength = {n: _master(state[f'strength.{n}']) for n in names}
        self._centre = {n: _master(state[f'centre.{n}']) for n in names}
        self._ready.clear()
        self._shares.clear()

    def _check_step(self, weight: float, importances: Mapping[str, Tensor],
                    anchors: Mapping[str, Tensor]) -> None:
        if not 0 <= weight < math.inf:
            raise ValueError(
                f'weight must be finite and not negative, got {weight}')
        for name, gamma in importances.items():
            if name not in anchors:
                raise KeyError(f'{name!r} has an importance but no anchor')
            if gamma.numel() and not _in_range(*gamma.aminmax()):
                raise ValueError(
                    f'the importances of {name!r} must be finite and not '
                    'negative')
            _check_shape(name, anchors[name], gamma)
        for name, strength in self._strength.items():
            _check_shape(name, importances.get(name, strength), strength)
            _check_shape(name, anchors.get(name, strength), strength)

    def _matched(self, named_params: NamedTensors) -> tuple[list, list, list]:
        """Penalised parameters with their 2A and c in the same type."""
        found = [(param, *self._cast(name, param))
                 for name, param in _items(named_params)
                 if name in self._strength]
        return tuple(map(list, zip(*found, strict=True))) or ([], [], [])

    def _cast(self, name: str, param: Tensor) -> tuple[Tensor, Tensor]:
        _check_shape(name, param, self._strength[name])
        ready = self._ready.get(name)
        if ready is None or (ready[0].dtype, ready[0].device) != (
                param.dtype, param.device):
            # of the parameter's own layout, be it channels_last
            ready = tuple(
                torch.empty_like(param.detach()).copy_(value)
                for value in (2 * self._strength[name], self._centre[name]))
            self._ready[name] = ready
        return ready


def accumulate_(strength: Tensor, centre: Tensor,
                terms: Sequence[Term]) -> float:
    r"""Add terms :math:`w\Gamma(\theta - \theta^*)^2` to
    :math:`A(\theta - c)^2`.

    With the share :math:`s = w\Gamma / (A + w\Gamma)` each of them makes
    :math:`c \leftarrow c + s(\theta^* - c)` and :math:`A \leftarrow A +
    w\Gamma`, in place, for contiguous float64 on the CPU; terms may have any
    type and layout. Every element is computed by itself, so working in
    blocks does not change the result. What the terms add beside
    :math:`A(\theta - c)^2` is returned.
    """
    strength, centre = strength.view(-1), centre.view(-1)
    terms = [(weight, *(x.detach().to('cpu').reshape(-1) for x in tensors))
             for weight, *tensors in terms]
    constant = torch.zeros((), dtype=torch.float64)
    buffers = torch.empty(
        4, min(BLOCK, strength.numel()), dtype=torch.float64)
    for start in range(0, strength.numel(), BLOCK):
        part = slice(start, start + BLOCK)
        middle = centre[part]
        before, total, pull, shift = buffers[:, :middle.numel()]
        before.copy_(strength[part])
        for weight, gamma, anchor in terms:
            pull.copy_(gamma[part]).mul_(weight)
            torch.add(before, pull, out=total)
            pull.div_(total).nan_to_num_(0.)  # 0 / 0
            shift.copy_(anchor[part]).sub_(middle)
            middle.add_(pull.mul_(shift))
            # parallel axes: every term is positive, nothing cancels
            constant += torch.dot(before, pull.mul_(shift))
            before, total = total, before
        strength[part] = before
    return constant.item()


def _items(named: NamedTensors) -> Iterable[tuple[str, Tensor]]:
    return named.items() if isinstance(named, Mapping) else named


def _in_range(lowest: Tensor, highest: Tensor) -> bool:
    return bool(lowest >= 0) and bool(highest < math.inf)


def _zeros(like: Tensor) -> Tensor:
    return torch.zeros(like.shape, dtype=torch.float64)


def _master(tensor: Tensor) -> Tensor:
    """A contiguous float64 copy on the CPU."""
    return tensor.detach().to('cpu', torch.float64).clone(
        memory_format=torch.contiguous_format)


def _check_shape(name: str, tensor: Tensor, penalised: Tensor) -> None:
    if tensor.shape != penalised.shape:
        raise ValueError(
            f'{name!r} has shape {tuple(tensor.shape)} but its penalty has '
            f'{tuple(penalised.shape)}; a parameter that grew needs a name '
            'of its own, or no penalty')
