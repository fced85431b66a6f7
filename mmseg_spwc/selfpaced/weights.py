"""The paper's idea: performances of past units in, priority weights out."""
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real

import torch
from torch import Tensor

from mmseg_spwc.utils.options import check_options

from .age import age_from
from .regularizers import Rule, as_fraction, difficulty, get_rule


def priority_weights(psi: Tensor | Sequence[float] | float,
                     mu: float | None = None, k: int | None = None,
                     rule: str = 'spwc', eta_scale: float = 1.) -> Tensor:
    r"""Weights :math:`v` of the past units from their performance (eq. 12).

    .. math::
        v_t = \sqrt{1 - \eta_t/\mu} \text{ if } \eta_t < \mu \text{ else } 0,
        \qquad \eta_t = -\psi_t \ln(1 - \psi_t)

    Units with a low score get a weight near 1, those with a high score a
    small one. It is
    :class:`SelfPacedWeights`, which decides in a run, without its options.

    Args:
        psi: Performance of every past unit, fractions in [0, 1]. At 1, where
            :math:`\eta` is infinite, it counts as :math:`1 - 10^{-6}`
            (:math:`\eta = 13.8`): the easiest unit of all, and no weight is
            infinite.
        mu: The age. ``inf`` gives every unit weight 1, 0 drops them all.
        k: Instead of ``mu``: keep the ``k`` hardest units, with the easiness
            of the (k+1)-th as age. Units tied with that one are dropped too.
        rule: ``spwc``, ``hard``, ``linear``, ``log``, or ``authors_code``,
            which is :math:`\eta` itself and takes neither ``mu`` nor ``k``.
        eta_scale: Divide :math:`\eta` by this first; for the ``log`` rule,
            whose age must lie in (0, 1).

    Returns:
        Tensor: The weights in float64, shaped like ``psi``.
    """
    psi = as_fraction(psi)  # a unit without a performance is an error here
    pace = SelfPacedWeights(rule=rule, mu=mu, k=k, eta_scale=eta_scale)
    return pace(psi.flatten()).v.reshape(psi.shape)


@dataclass(frozen=True)
class PriorityWeights:
    r"""What was decided for one step; log it, then use ``v``.

    ``f`` is the value of the regulariser at ``v`` (the paper's :math:`\mu_m
    f(v; m)`), over the units with a performance.
    """
    psi: Tensor  # performance, (units,), NaN where it is unknown
    eta: Tensor  # easiness over eta_scale, (units,), NaN where unknown
    mu: float  # the age; NaN for a rule without one
    v: Tensor  # weights, (units,), 1 for a unit without a performance
    f: float
    missing: tuple[int, ...] = ()  # units without a performance

    @property
    def kept(self) -> int:
        """The number of units with a weight above zero."""
        return int((self.v > 0).sum())


NORMALISERS: dict[str | None, Callable[[Tensor], Tensor]] = {
    None: lambda v: v,
    'sum': lambda v: v * (v.numel() / v.sum()) if v.sum() > 0 else v,
    'max': lambda v: v / v.max() if v.sum() > 0 else v,
}


@dataclass(frozen=True)
class SelfPacedWeights:
    r"""Settings that turn the performances of past units into weights.

    The defaults are the paper's. The weights are computed in this order:
    rule, floor ``min_weight``, ``protect_last``, ``normalise``, ``control``.

    Args:
        rule: See :func:`priority_weights`.
        mu: Fixed age. Give exactly one of ``mu``, ``k`` and ``age``.
        k: Number of units to keep.
        age: Age policy, see :func:`age_from`.
        form: ``separable`` (eq. 12) or ``coupled``, the minimiser for the
            norm as printed in eq. 5.
        normalise: ``sum`` for :math:`\sum v` = number of units, ``max`` for
            :math:`\max v = 1`, or None. Without it the penalty is weaker
            than plain EWC at the same strength.
        protect_last: Give the newest units weight 1. They are the easiest,
            so the rule drops them just when they are most at risk.
        min_weight: Lower bound of the weights.
        relative: Judge a unit by its performance over its own best so far.
        eps: Performances are cut at ``1 - eps`` to keep eta finite.
        eta_scale: Divide eta by this.
        control: Weights that tell the priority from a mere change of
            strength, to compare with: ``mean`` gives every unit the mean
            weight, ``shuffle`` deals the same weights out at random (anew
            at every step), a number is every unit's weight.
    """
    rule: str = 'spwc'
    mu: float | None = None
    k: int | None = None
    age: Mapping | None = None
    form: str = 'separable'
    normalise: str | None = None
    protect_last: bool = False
    min_weight: float = 0.
    relative: bool = False
    eps: float = 1e-6
    eta_scale: float = 1.
    control: str | float | None = None

    def __post_init__(self) -> None:
        check_options(type(self), vars(self), 'self_paced')
        rule = get_rule(self.rule, self.form)
        _check_age(self.rule, rule, mu=self.mu, k=self.k, age=self.age)
        if self.normalise not in tuple(NORMALISERS):
            raise ValueError(f'normalise must be one of {list(NORMALISERS)}, '
                             f'got {self.normalise!r}')
        if not 0 <= self.min_weight <= 1:
            raise ValueError(
                f'min_weight must lie in [0, 1], got {self.min_weight}')
        if not 0 < self.eps < 1:
            raise ValueError(f'eps must lie between 0 and 1, got {self.eps}')
        if not self.eta_scale > 0:
            raise ValueError(
                f'eta_scale must be positive, got {self.eta_scale}')
        _check_control(self.control)
        # a wrong age is better refused now than at the first use
        self._age(rule, torch.zeros(1), step=1)

    def __call__(self, psi: Tensor | Sequence[float | None], step: int = 1,
                 best: Tensor | Sequence[float | None] | None = None,
                 newest: int = 1) -> PriorityWeights:
        """Decide the weights of one step.

        Args:
            psi: Performance of every past unit, oldest first. None or NaN
                marks a unit that was not measured, for instance a class
                absent from the validation images; it keeps weight 1.
            step: Index of the step about to be learnt.
            best: Best performance of every unit so far, for ``relative``.
            newest: How many units at the end came with the last step.
        """
        psi = _with_nan(psi)
        if self.relative:
            psi = _relative(psi, best)
        known = ~psi.isnan()
        eta = torch.full_like(psi, math.nan)
        eta[known] = self._easiness(psi[known])
        rule = get_rule(self.rule, self.form)
        mu = self._age(rule, eta[known], step)
        v = torch.ones_like(psi)
        v[known] = rule.weights(eta[known], mu).clamp(min=self.min_weight)
        if self.protect_last:
            v[max(len(v) - newest, 0):] = 1.
        v[known] = NORMALISERS[self.normalise](v[known])
        v[known] = self._controlled(v[known], step)
        return PriorityWeights(
            psi, eta, mu, v,
            f=rule.value(v[known], mu).item() if known.any() else 0.,
            missing=tuple((~known).nonzero().flatten().tolist()))

    def _controlled(self, v: Tensor, step: int) -> Tensor:
        if self.control is None or not len(v):
            return v
        if self.control == 'shuffle':
            generator = torch.Generator().manual_seed(step)
            return v[torch.randperm(len(v), generator=generator)]
        same = v.mean() if self.control == 'mean' else self.control
        return torch.full_like(v, float(same))

    def _easiness(self, psi: Tensor) -> Tensor:
        return difficulty(psi.clamp(max=1 - self.eps)) / self.eta_scale

    def _age(self, rule: Rule, eta: Tensor, step: int) -> float:
        if not rule.aged:
            return math.nan
        policy = self.age
        if self.k is not None:
            policy = {'type': 'topk', 'k': self.k}
        elif self.mu is not None:
            policy = {'type': 'fixed', 'mu': float(self.mu)}
        return age_from(policy, eta, step, self.eta_scale)


def _check_control(control: str | float | None) -> None:
    number = isinstance(control, Real) and 0 <= control < math.inf
    if control not in (None, 'mean', 'shuffle') and not number:
        raise ValueError("control is 'mean', 'shuffle' or a finite weight of "
                         f'at least 0, not {control!r}')


def _check_age(name: str, rule: Rule, **ages: object) -> None:
    """Refuse more or fewer ages than the rule takes: one, or none."""
    given = [key for key, age in ages.items() if age is not None]
    if len(given) != int(rule.aged):
        wanted = f'exactly one of {list(ages)}' if rule.aged else 'no age'
        raise ValueError(f'rule {name!r} takes {wanted}, got {given}')


def _with_nan(psi: Tensor | Sequence[float | None]) -> Tensor:
    """Check the measured units, write the others as NaN; float64."""
    values = [math.nan if value is None else float(value) for value in psi]
    as_fraction([value for value in values if not math.isnan(value)])
    return torch.tensor(values, dtype=torch.float64)  # (units,)


def _relative(psi: Tensor, best: Sequence[float | None] | None) -> Tensor:
    """Performance over the unit's own best, 0 if it was never above 0."""
    if best is None or len(best) != len(psi):
        raise ValueError(
            'relative=True needs best, the best performance so far of each '
            f'of the {len(psi)} units')
    best = torch.fmax(_with_nan(best), psi)
    return torch.where(best == 0, 0., psi / best)
