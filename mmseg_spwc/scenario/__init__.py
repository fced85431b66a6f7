"""What is learnt when: class orders, label tables and image selection."""
from .catalogue import (
    build_scenario,
    check_row_name,
    get_classification_scenario,
    get_scenario,
    known_scenarios,
    row_names,
)
from .checks import SETTINGS
from .classification import ClassificationScenario
from .classification_splits import (
    check_task_data,
    select_samples,
    split_digest,
    split_heldout,
    stratified_split,
)
from .old_words import in_new_words
from .scenario import Scenario
from .segmentation import SegmentationScenario
from .segmentation_splits import (
    domain_of,
    hold_out,
    select_heldout,
    select_test,
    select_train,
)

__all__ = [
    'ClassificationScenario', 'SETTINGS', 'Scenario', 'SegmentationScenario',
    'build_scenario', 'check_row_name', 'check_task_data', 'domain_of',
    'get_classification_scenario', 'get_scenario', 'hold_out',
    'in_new_words', 'known_scenarios', 'row_names', 'select_heldout',
    'select_samples',
    'select_test', 'select_train', 'split_digest', 'split_heldout',
    'stratified_split'
]
