"""What segmentation and classification do differently in a sequence."""
from mmseg_spwc.scenario import Scenario

from .classification_problem import Classification
from .gone_data import check_data_left, keep_last_scores
from .problem import Problem
from .segmentation_problem import Segmentation

__all__ = ['Classification', 'Problem', 'Segmentation', 'check_data_left',
           'keep_last_scores', 'problem_of']

_PROBLEMS = dict(segmentation=Segmentation, classification=Classification)


def problem_of(scenario: Scenario) -> Problem:
    """Return the kind of problem that a scenario poses."""
    return _PROBLEMS[scenario.problem]()
