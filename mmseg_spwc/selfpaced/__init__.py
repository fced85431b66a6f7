"""Performance of past units in, priority weights out (the spWC paper)."""
from .age import AGES, age_from
from .difficulty import difficulty
from .pacing import PriorityWeights, SelfPacedWeights
from .regularizers import FORMS, get_rule
from .weights import priority_weights

__all__ = [
    'AGES', 'FORMS', 'PriorityWeights', 'SelfPacedWeights', 'age_from',
    'difficulty', 'get_rule', 'priority_weights'
]
