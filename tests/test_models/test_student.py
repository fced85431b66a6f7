"""What a loss asks for, and what a model has to give."""
from typing import TypedDict

import pytest
from torch import Tensor, nn

from mmseg_spwc.models.quantities import (
    ClassifierQuantities,
    OfTeacher,
    SegmentorQuantities,
    of_teacher,
)
from mmseg_spwc.models.student import _arguments


class Quantities(TypedDict):
    logits: Tensor
    labels: Tensor
    old_logits: OfTeacher[Tensor]


class Model:
    quantities = Quantities


class WithDefault(nn.Module):

    def forward(self, logits, weight=None, labels=None):
        return logits


class Without(nn.Module):

    def forward(self, logits, weight):
        return logits


def test_a_default_stands_for_what_a_model_does_not_provide():
    assert _arguments(WithDefault, Model) == ('logits', 'labels')


def test_what_has_no_default_must_be_provided():
    with pytest.raises(TypeError, match="asks for 'weight'.*known are"):
        _arguments(Without, Model)


def test_what_needs_a_teacher_is_marked_where_it_is_listed():
    assert of_teacher(Quantities) == {'old_logits'}
    assert of_teacher(ClassifierQuantities) == {'old_logits'}
    assert of_teacher(SegmentorQuantities) == {
        'old_logits', 'old_features', 'old_classifier'}
