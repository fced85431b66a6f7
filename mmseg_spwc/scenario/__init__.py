"""What is learnt when: class orders, label tables and image selection."""
from .catalogue import build_scenario, get_scenario, known_scenarios
from .checks import SETTINGS
from .scenario import Scenario
from .splits import (
    check_splits,
    domain_of,
    hold_out,
    select_heldout,
    select_test,
    select_train,
    test_part,
)

__all__ = [
    'SETTINGS', 'Scenario', 'build_scenario', 'check_splits', 'domain_of',
    'get_scenario', 'hold_out', 'known_scenarios', 'select_heldout',
    'select_test', 'select_train', 'test_part'
]
