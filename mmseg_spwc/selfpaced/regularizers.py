r"""From a performance to its easiness, and from that to a weight.

Every rule answers :math:`\min_{v \in [0,1]} \sum_t v_t \eta_t + f(v)` for an
age :math:`\mu`. Hard, linear and spWC are one polynomial family with exponent
:math:`q = 1/(p-1)`; they share the notation :math:`u = (1 - \eta/\mu)_+`.

============  =================================  ==========================
rule          :math:`f(v)`                       :math:`v`
============  =================================  ==========================
hard, q=0     :math:`-\mu\sum v`                 :math:`1[\eta < \mu]`
linear, q=1   :math:`\mu\sum(v^2/2 - v)`         :math:`u`
spwc, q=1/2   :math:`\mu\sum(v^3/3 - v)`         :math:`u^{1/2}`
log           :math:`\sum(\zeta v                :math:`\ln(\eta + \zeta)
              - \zeta^v/\ln\zeta)`               / \ln\zeta`, :math:`\zeta
                                                 = 1 - \mu`
============  =================================  ==========================
"""
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


def difficulty(psi: Tensor | Sequence[float] | float) -> Tensor:
    r"""The paper's :math:`\eta = -\psi \ln(1 - \psi)` of a performance.

    The paper calls it difficulty, yet it grows with :math:`\psi`: it is 0 for
    a unit forgotten altogether and :math:`+\infty` for a perfect one.

    Args:
        psi: Key performance indicator (accuracy, IoU) of every past unit, as
            a fraction in [0, 1].

    Returns:
        Tensor: :math:`\eta` in float64, shaped like ``psi``.
    """
    psi = as_fraction(psi)
    return -psi * torch.log1p(-psi)


def as_fraction(psi: Tensor | Sequence[float] | float) -> Tensor:
    """Check that ``psi`` holds fractions and return it in float64."""
    psi = torch.as_tensor(psi, dtype=torch.float64).detach()
    if psi.isnan().any():
        raise ValueError(
            'psi holds NaN; give the performance of every unit, or None for '
            'a unit that was not measured (SelfPacedWeights)')
    low, high = (psi.min().item(), psi.max().item()) if psi.numel() else (0, 0)
    if low < 0 or high > 1:
        percent = low >= 0 and 1 < high <= 100 and not math.isinf(high)
        hint = '; it looks like a percentage, divide it by 100' * percent
        raise ValueError(
            f'psi must lie in [0, 1], got values from {low:g} to {high:g}'
            f'{hint}')
    return psi


def slack(eta: Tensor, mu: float) -> Tensor:
    r"""How far below the age a unit is: :math:`u = (1 - \eta/\mu)_+`."""
    if mu <= 0:
        return torch.zeros_like(eta)
    if math.isinf(mu):  # also for eta = inf, where the ratio is undefined
        return torch.ones_like(eta)
    return (1 - eta / mu).clamp(min=0)


class Rule:
    """A regulariser: its minimiser, its value, and whether it has an age."""

    aged = True

    def weights(self, eta: Tensor, mu: float) -> Tensor:
        raise NotImplementedError

    def value(self, v: Tensor, mu: float) -> Tensor:
        raise NotImplementedError


@dataclass(frozen=True)
class Polynomial(Rule):
    r""":math:`v = u^q` below the age and 0 above it (eq. 12), with
    :math:`f(v) = \mu \sum_t (v_t^p / p - v_t)` and :math:`p = 1 + 1/q`.

    As :math:`q \to 0` the power vanishes for weights up to 1, which leaves
    the hard regulariser.
    """
    q: float

    def weights(self, eta: Tensor, mu: float) -> Tensor:
        u = slack(eta, mu)
        return torch.where(u > 0, u**self.q, 0.)

    def value(self, v: Tensor, mu: float) -> Tensor:
        q = self.q
        power = v**(1 + 1 / q) / (1 + 1 / q) if q else torch.zeros_like(v)
        return _times_age((power - v).sum(), mu)


@dataclass(frozen=True)
class Coupled(Rule):
    r""":math:`v = u \|u\|_2^{q-1}`, for the norm as the paper prints it.

    With :math:`f(v) = \mu (\|v\|_2^p / p - \sum_t v_t)` (eq. 5 at p = 3) the
    units are coupled and :math:`\eta + \mu(v^2 - 1) = 0` is not the
    optimality condition; this is the true minimiser, for spWC :math:`v = u /
    \sqrt{\|u\|_2}`.
    """
    q: float

    def weights(self, eta: Tensor, mu: float) -> Tensor:
        u = slack(eta, mu)
        norm = u.norm()
        return u * norm**(self.q - 1) if norm > 0 else u

    def value(self, v: Tensor, mu: float) -> Tensor:
        p = 1 + 1 / self.q
        return _times_age(v.norm()**p / p - v.sum(), mu)


class Logarithmic(Rule):
    r""":math:`v = \ln(\eta + \zeta) / \ln \zeta` below the age."""

    def weights(self, eta: Tensor, mu: float) -> Tensor:
        zeta = self._zeta(mu)
        return torch.where(eta < mu, (eta + zeta).log() / math.log(zeta), 0.)

    def value(self, v: Tensor, mu: float) -> Tensor:
        zeta = self._zeta(mu)
        return (zeta * v - zeta**v / math.log(zeta)).sum()

    def _zeta(self, mu: float) -> float:
        if not 0 < mu < 1:
            raise ValueError(
                f'the log rule needs an age mu in (0, 1), got {mu:g}, so it '
                'only tells apart units with psi below 0.741; set eta_scale '
                'to divide eta (e.g. by its largest value), or take another '
                'rule')
        return 1 - mu


class AuthorsCode(Rule):
    """The weight of the authors' released code: eta itself, no age.

    The value is the constant that they add, over units and not over pixels.
    """

    aged = False

    def weights(self, eta: Tensor, mu: float) -> Tensor:
        return eta.clone()

    def value(self, v: Tensor, mu: float) -> Tensor:
        return (v**3).sum().sqrt() / 3 - v.sum()


def _times_age(value: Tensor, mu: float) -> Tensor:
    return mu * value if value else value  # no units and no age: 0, not NaN


FORMS: dict[str, dict[str, Rule]] = dict(
    separable=dict(
        spwc=Polynomial(.5), hard=Polynomial(0.), linear=Polynomial(1.),
        log=Logarithmic(), authors_code=AuthorsCode()),
    coupled=dict(spwc=Coupled(.5), linear=Coupled(1.)))


def get_rule(rule: str, form: str = 'separable') -> Rule:
    """Look up a rule in one of its forms, ``separable`` or ``coupled``."""
    if form not in tuple(FORMS):  # a list cannot be looked up
        raise ValueError(f'form must be one of {list(FORMS)}, got {form!r}')
    if rule not in tuple(FORMS[form]):
        raise ValueError(
            f'rule must be one of {list(FORMS[form])} in the {form} form, '
            f'got {rule!r}')
    return FORMS[form][rule]
