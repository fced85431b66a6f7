"""Loss curves in the record."""
import pytest
from mmengine.logging import MessageHub

from mmseg_spwc.engine.histories import loss_curves


@pytest.fixture
def hub():
    hub = MessageHub('curves')
    for i in range(10):
        hub.update_scalar('train/loss', float(i))
        hub.update_scalar('train/loss_kd', 2. * i)
        hub.update_scalar('train/lr', 0.1)
    for value in (3., 5.):
        hub.update_scalar('train/penalty', value)
    return hub


def test_means_over_equal_stretches(hub):
    curves = loss_curves(hub, 10, points=5)
    assert curves['iterations'] == [2, 4, 6, 8, 10]
    assert curves['losses']['loss'] == [0.5, 2.5, 4.5, 6.5, 8.5]
    assert curves['losses']['loss_kd'] == [1., 5., 9., 13., 17.]
    assert 'lr' not in curves['losses']


def test_a_term_that_is_logged_seldom_keeps_its_place(hub):
    penalty = loss_curves(hub, 10, points=4)['losses']['penalty']
    assert penalty == [3., None, 5., None]


def test_short_and_absent_steps(hub):
    assert loss_curves(hub, 10)['losses']['loss'] == list(range(10))
    empty = loss_curves(MessageHub('nothing'), 0)
    assert empty == dict(iterations=[], losses={})


def test_a_value_that_is_not_finite_is_left_out():
    hub = MessageHub('broken')
    hub.update_scalar('train/loss', float('nan'))
    assert loss_curves(hub, 1)['losses']['loss'] == [None]
