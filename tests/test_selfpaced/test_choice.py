"""What spWC decides from a table of scores, against a plain computation."""
import json
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmseg_spwc.selfpaced import (
    SelfPacedChoice,
    SelfPacedWeights,
    priority_weights,
    weights_of,
)
from mmseg_spwc.selfpaced.choice import best_of


def choice(unit='class', background='unit', **options):
    return SelfPacedChoice(
        unit=unit, background=background, **(options or dict(k=2))).decide


scores = st.none() | st.floats(0, 1)


@st.composite
def histories(draw):
    """Rows of scores; every step may bring units, none are lost."""
    lengths = sorted(draw(st.lists(st.integers(1, 6), min_size=1,
                                   max_size=4)))
    return [draw(st.lists(scores, min_size=n, max_size=n)) for n in lengths]


@settings(deadline=None, max_examples=60)
@given(histories(), st.data())
def test_decision_by_loops(history, data):
    """Step, best and newest units, written out unit by unit."""
    count = len(history[-1])
    now = data.draw(st.none() | st.lists(
        scores, min_size=count, max_size=count + 2))
    options = dict(
        age=dict(type='schedule', start=.4, factor=1.5), relative=True,
        protect_last=True)
    found = choice(**options)(history, now)
    latest = history[-1] if now is None else now
    new = [i for i in range(count)
           if len(history) == 1 or i >= len(history[-2])]
    mu = .4 * 1.5**(len(history) - 1)
    for i in range(count):
        if i in new or latest[i] is None:
            assert found.v[i] == 1
            continue
        seen = [row[i] for row in history if i < len(row)]
        best = max(s for s in [*seen, latest[i]] if s is not None)
        psi = min(latest[i] / best, 1 - 1e-6) if best else 0.
        eta = -psi * math.log1p(-psi)
        assert found.v[i].item() == pytest.approx(
            math.sqrt(max(0, 1 - eta / mu)), abs=1e-6)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.integers(0, 7))
def test_one_row_is_the_papers_function(psi, k):
    assert torch.equal(choice(k=k)([psi]).v, priority_weights(psi, k=k))


@pytest.mark.parametrize('options', [
    dict(rule='spwc', k=2),
    dict(rule='spwc', k=2, normalise='sum'),
    dict(rule='authors_code'),
])
def test_kept_background_leaves_the_choice_to_the_classes(options):
    """The classes get what they get in a world without background."""
    psi = [.98, .5, .8, .6]  # background first
    found = choice(background='keep', **options)([psi])
    alone = SelfPacedWeights(**options)(psi[1:])
    assert found.v.tolist() == [1., *alone.v.tolist()]
    assert found.eta[1:].tolist() == alone.eta.tolist()
    assert found.psi[0].isnan() and found.missing == (0, )
    assert found.f == pytest.approx(alone.f, nan_ok=True)


def test_background_is_a_unit_by_default_and_loses_its_weight():
    """The rule drops the easiest units, and background is the easiest."""
    v = choice(k=2)([[.98, .5, .8, .6]]).v
    assert v.gt(0).tolist() == [False, True, False, True]


def test_best_of_skips_what_was_not_measured():
    assert best_of([[.9, None], [.5, .2, .7]]) == [.9, .2, .7]
    assert best_of([[None], [None, .1]]) == [None, .1]


def test_weights_of_steps_and_classes():
    v = torch.tensor([.2, .4, .6, .9])
    steps = [0, 0, 0, 1]
    torch.testing.assert_close(
        weights_of('step', v, 'class', steps), torch.tensor([.4, .9]))
    spread = weights_of('class', v[2:], 'step', steps)
    torch.testing.assert_close(spread, torch.tensor([.6, .6, .6, .9]))
    assert weights_of('step', v, 'step', steps) is v
    assert weights_of('class', v, 'class', steps) is v


@pytest.mark.parametrize('options', [
    dict(unit='step', mu=math.inf),
    dict(unit='class', k=3, background='keep', normalise='sum'),
    dict(unit='class', rule='authors_code', eps=.01),
    dict(unit='step', age=dict(type='schedule', start=1., factor=2.)),
    dict(unit='step', age=dict(type='schedule', start=1., factor=2.,
                               limit=math.inf)),
])
def test_a_record_can_hold_it(options):
    made = SelfPacedChoice.from_dict(options)
    text = json.dumps(made.to_dict(), allow_nan=False)
    assert SelfPacedChoice.from_dict(json.loads(text)) == made
    assert {**made.to_dict(), **json.loads(text)} == made.to_dict()


@pytest.mark.parametrize('options, message', [
    (dict(k=2), "unit is 'class' or 'step', not None"),
    (dict(unit='pixel', k=2), "'class' or 'step', not 'pixel'"),
    (dict(unit='step', background='drop', k=2), "'unit' or 'keep'"),
    (dict(unit='step'), 'exactly one of'),
    (dict(unit='step', k=2, age_of=3), 'age_of'),
])
def test_wrong_options(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SelfPacedChoice.from_dict(options)
