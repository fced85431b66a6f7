"""What is learnt when: class orders, label tables and image selection."""
from .catalogue import build_scenario, get_scenario, known_scenarios
from .checks import SETTINGS
from .old_words import in_new_words
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
from .stratified import split_digest, stratified_split
from .task_catalogue import get_task_scenario
from .task_splits import check_task_data, select_samples, split_heldout
from .tasks import TaskScenario

__all__ = [
    'SETTINGS', 'Scenario', 'TaskScenario', 'build_scenario',
    'check_splits', 'check_task_data', 'domain_of', 'get_scenario',
    'get_task_scenario', 'hold_out', 'in_new_words',
    'known_scenarios', 'select_heldout',
    'select_samples', 'select_test', 'select_train', 'split_digest',
    'split_heldout', 'stratified_split', 'test_part'
]
