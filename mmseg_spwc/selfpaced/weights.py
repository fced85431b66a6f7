"""Priority weights of the past units: the paper's idea in one function."""
import math
from collections.abc import Sequence

from torch import Tensor

from .age import age_from
from .difficulty import as_fraction, difficulty
from .regularizers import Rule, get_rule

# psi = 1 has an infinite easiness; ranking it needs a finite one
RANKING_EPS = 1e-6


def priority_weights(psi: Tensor | Sequence[float] | float,
                     mu: float | None = None,
                     k: int | None = None,
                     rule: str = 'spwc',
                     eta_scale: float = 1.) -> Tensor:
    r"""Weights :math:`v` of the past units from their performance (eq. 12).

    .. math::
        v_t = \sqrt{1 - \eta_t/\mu} \text{ if } \eta_t < \mu \text{ else } 0,
        \qquad \eta_t = -\psi_t \ln(1 - \psi_t)

    Units done badly get a weight near 1, units done well a small one.

    Args:
        psi: Performance of every past unit, fractions in [0, 1].
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
    chosen = get_rule(rule)
    check_age(rule, chosen, mu=mu, k=k)
    psi = as_fraction(psi)
    if k is not None:
        psi = psi.clamp(max=1 - RANKING_EPS)
    eta = difficulty(psi) / positive(eta_scale, 'eta_scale')
    if not chosen.aged:
        return chosen.weights(eta, math.nan)
    policy = age_policy(mu=mu, k=k)
    return chosen.weights(eta, age_from(policy, eta))


def age_policy(mu: float | None, k: int | None) -> dict:
    """The age policy that ``mu`` or ``k`` is short for."""
    if k is not None:
        return {'type': 'topk', 'k': k}
    return {'type': 'fixed', 'mu': float(mu)}


def check_age(name: str, rule: Rule, **ages: object) -> None:
    """Refuse more or fewer ages than the rule takes: one, or none."""
    given = [key for key, age in ages.items() if age is not None]
    if len(given) != int(rule.aged):
        wanted = f'exactly one of {list(ages)}' if rule.aged else 'no age'
        raise ValueError(f'rule {name!r} takes {wanted}, got {given}')


def positive(value: float, name: str) -> float:
    """Return ``value``, or complain that ``name`` must be above zero."""
    if not value > 0:
        raise ValueError(f'{name} must be positive, got {value}')
    return value
