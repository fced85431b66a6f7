"""What is learnt when: class orders, label tables and image selection."""
from .catalogue import (
    build_scenario,
    check_row_name,
    get_scenario,
    row_names,
)
from .classification_scenario import ClassificationScenario
from .classification_splits import (
    check_task_data,
    choose_images,
    select_samples,
    split_digest,
    stratified_split,
)
from .scenario import Scenario, changed_facts
from .segmentation_scenario import SETTINGS, SegmentationScenario
from .segmentation_splits import (
    domain_of,
    hold_out,
    select_heldout,
    select_test,
    select_train,
)
from .step_data import UNLEARNT, LabelMap, StepData

__all__ = [
    'ClassificationScenario', 'LabelMap', 'SETTINGS', 'Scenario',
    'SegmentationScenario', 'StepData', 'UNLEARNT', 'build_scenario',
    'changed_facts', 'check_row_name', 'check_task_data', 'choose_images',
    'domain_of', 'get_scenario', 'hold_out',
    'row_names', 'select_heldout', 'select_samples', 'select_test',
    'select_train', 'split_digest', 'stratified_split'
]
