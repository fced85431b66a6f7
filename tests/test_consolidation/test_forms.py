"""How stored steps become one penalty."""
import pytest
import torch

from mmseg_spwc.consolidation import OnlineForm, StepStore
from mmseg_spwc.registry import build_part


@pytest.fixture
def store(tmp_path):
    store = StepStore(tmp_path / 'three')
    for step, (gamma, anchor) in enumerate(((1., 0.), (2., 1.), (4., 3.))):
        store.save(step, dict(p=torch.tensor([gamma])),
                   dict(p=torch.tensor([anchor])))
    return store


@pytest.mark.parametrize('form, wanted', [
    ('per_step', .5 * 1 * 2**2 + 0 + .25 * 4 * 1**2),
    (dict(type='online', decay=.9), (.9 * .9 * .5 * 1 + 0 + .25 * 4) * 1**2),
    ('last', .25 * 4 * 1**2)])
def test_forms(store, form, wanted):
    weights = {0: .5, 1: 0., 2: .25}
    penalty = build_part(form, 'form', object)(store, weights, dict)
    value = penalty.value(dict(p=torch.tensor([2.])))
    assert value.item() == pytest.approx(wanted)


@pytest.mark.parametrize('form', ['per_step', 'last'])
def test_steps_without_a_weight_are_not_read(store, form):
    build = build_part(form, 'form', object)
    build(store, {7: 0., 9: 0.}, dict)
    with pytest.raises(FileNotFoundError, match=r'stored steps: \[0, 1, 2\]'):
        build(store, {7: 1.}, dict)


def test_importances_are_prepared(store):
    doubled = build_part('last', 'form', object)(
        store, {2: 1.}, lambda g: {n: 2 * v for n, v in g.items()})
    value = doubled.value(dict(p=torch.tensor([2.])))
    assert value.item() == pytest.approx(2 * 4 * 1**2)


def test_decay_is_a_share():
    with pytest.raises(ValueError, match='decay'):
        OnlineForm(decay=-1.)
