r"""Parameter size efficiency, the paper's PS metric.

.. math::
    PS(m) = \min\Big(1, \frac1m \sum_{t=1}^m
        \frac{\mathrm{Params}(\Theta_1)}{\mathrm{Params}(\Theta_t)}\Big)

PS depends on what is counted as a parameter at task t. The paper counts the
network and one copy of it per penalised task, not the importances and not the
copies kept for tasks that are not penalised now but may be again; the other
two functions say what is really kept. Sizes are in units of the network.
"""
from collections.abc import Callable, Sequence


def parameter_size_efficiency(counts: Sequence[int]) -> float:
    """PS as in the paper, called active: network and penalised anchors.

    ``counts`` are the past tasks with a weight above zero at each step: 0, 1,
    2, ... for EWC, 0, 1, 1, ... for online EWC and MAS. PS lies in (0, 1],
    larger is better.
    """
    return _efficiency(counts, lambda count: 1 + count)


def stored_efficiency(counts: Sequence[int]) -> float:
    """PS of all that is kept: network, anchors and importances.

    ``counts`` are the past tasks stored at each step, penalised or not.
    """
    return _efficiency(counts, lambda count: 1 + 2 * count)


def resident_efficiency(counts: Sequence[int]) -> float:
    """PS of what training holds in memory here.

    All quadratic penalties are one strength and one centre, however many
    tasks there are. ``counts`` are the penalised tasks at each step.
    """
    return _efficiency(counts, lambda count: 3 if count else 1)


def _efficiency(counts: Sequence[int], size: Callable[[int], int]) -> float:
    counts = list(counts)
    if not counts:
        raise ValueError('PS needs the count of one step at least')
    if min(counts) < 0:
        raise ValueError(f'counts must not be negative, got {counts}')
    return min(1., sum(1 / size(count) for count in counts) / len(counts))
