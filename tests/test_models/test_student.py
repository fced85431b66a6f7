"""What a loss asks for, and what a model has to give."""
import pytest
from torch import nn

from mmseg_spwc.models.student import _arguments


class Model:
    provides = ('logits', 'labels')


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
