"""Performance of past units in, priority weights out (the spWC paper)."""
from .age import AGES, age_from
from .choice import SelfPacedChoice, priority_takers, taken_unit, weights_of
from .regularizers import FORMS, difficulty, get_rule
from .weights import PriorityWeights, SelfPacedWeights, priority_weights

__all__ = [
    'AGES', 'FORMS', 'PriorityWeights', 'SelfPacedChoice', 'SelfPacedWeights',
    'age_from', 'difficulty', 'get_rule', 'priority_takers',
    'priority_weights', 'taken_unit', 'weights_of'
]
