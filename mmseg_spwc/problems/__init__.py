"""What segmentation and classification do differently in a sequence."""
from mmseg_spwc.scenario import Scenario

from .classification_problem import Classification
from .problem import Problem
from .segmentation_problem import Segmentation

__all__ = ['Classification', 'Problem', 'Segmentation', 'problem_of']

_PROBLEMS = dict(segmentation=Segmentation, classification=Classification)


def problem_of(scenario: Scenario) -> Problem:
    """Return the kind of problem that a scenario poses."""
    return _PROBLEMS[scenario.problem]()
