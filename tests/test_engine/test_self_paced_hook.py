"""How scores become weights of pixels and of penalties."""
import pytest
import torch

from mmseg_spwc.engine.hooks import SelfPacedHook
from mmseg_spwc.engine.hooks.self_paced_hook import best_of
from mmseg_spwc.selfpaced import SelfPacedWeights, priority_weights

SCENARIO = dict(
    dataset='mine', num_classes=6, steps=[[1, 2], [3], [4, 5]], name='m')


def hook(step=2, **options):
    options = options or dict(rule='spwc', k=2)
    return SelfPacedHook(step, SCENARIO, 'none/record.json', **options)


def test_table_holds_old_channels_and_ones():
    made = hook(unit='class', rule='linear', mu=1.)
    v = torch.tensor([0.1, 0.2, 0.3, 0.4])
    table = made._table(v)
    torch.testing.assert_close(table[:4], v)
    assert (table[4:] == 1).all() and len(table) == 256


def test_step_weights_spread_over_their_channels():
    made = hook(unit='step', rule='linear', mu=1.)
    table = made._table(torch.tensor([0.25, 0.75]))
    assert table[:5].tolist() == [0.25, 0.25, 0.25, 0.75, 1.]


def test_class_weights_are_averaged_for_penalties():
    made = hook(unit='class', rule='linear', mu=1.)
    by_step = made._by_step(torch.tensor([0.2, 0.4, 0.6, 0.9]))
    torch.testing.assert_close(by_step, torch.tensor([0.4, 0.9]))


def test_paper_example_of_the_sheet():
    """Weights after step 0 of a published 10-1 run (mu is that of k = 10).

    The two classes at 95.1 % are left out: rounding decides about them.
    """
    psi = [.899, .415, .881, .706, .847, .879, .920, .481, .914]
    v = priority_weights(psi, mu=2.879).tolist()
    expected = [.53, .96, .59, .84, .67, .59, .44, .94, .47]
    assert v == pytest.approx(expected, abs=0.01)


class Listener:
    """A runner, as far as the weights need one."""

    class _Part:

        def update_info(self, key, value):
            self.info = value

        def add_scalars(self, scalars, step):
            self.scalars = scalars

    def __init__(self):
        self.hooks, self.iter = [], 0
        self.model = torch.nn.Identity()
        self.message_hub, self.visualizer = self._Part(), self._Part()


PSI = [.98, .5, .8, .6]  # background first


@pytest.mark.parametrize('options', [
    dict(rule='spwc', k=2),
    dict(rule='spwc', k=2, normalise='sum'),
    dict(rule='authors_code'),
])
def test_kept_background_leaves_the_choice_to_the_classes(options):
    """The classes get what they get in a world without background."""
    runner = Listener()
    made = hook(unit='class', background='keep', **options)
    made._apply(runner, PSI, PSI)
    priority = runner.message_hub.info
    alone = SelfPacedWeights(**options)(PSI[1:])
    assert priority['v'] == [1., *alone.v.tolist()]
    assert priority['psi'] == [None, *PSI[1:]]
    assert priority['eta'] == [None, *alone.eta.tolist()]
    assert priority['f'] == pytest.approx(alone.f, nan_ok=True)
    expected = torch.tensor(priority['v'], dtype=torch.float32)
    torch.testing.assert_close(runner.model.priority_table[:4], expected)
    assert (runner.model.priority_table[4:] == 1).all()
    assert 'spwc/psi.0' not in runner.visualizer.scalars


def test_background_is_a_unit_by_default_and_loses_its_weight():
    """The rule drops the easiest units, and background is the easiest."""
    runner = Listener()
    hook(unit='class', rule='spwc', k=2)._apply(runner, PSI, PSI)
    priority = runner.message_hub.info
    assert priority['psi'] == PSI
    assert [v > 0 for v in priority['v']] == [False, True, False, True]


@pytest.mark.parametrize('options, scenario, missing', [
    (dict(unit='step'), SCENARIO, "unit is 'step'"),
    (dict(unit='class'),
     dict(dataset='cityscapes_domain', name='1-1'), 'has none'),
])
def test_background_is_kept_only_where_there_is_one(options, scenario,
                                                    missing):
    with pytest.raises(ValueError, match=missing):
        SelfPacedHook(1, scenario, 'none/record.json', k=2,
                      background='keep', **options)


def test_best_of_skips_what_was_not_measured():
    assert best_of([[0.9, None], [0.5, 0.2, 0.7]]) == [0.9, 0.2, 0.7]


@pytest.mark.parametrize('options, message', [
    (dict(unit='pixel', k=2), 'unit'),
    (dict(background='drop', k=2), 'background'),
    (dict(update='sometimes', k=2), 'update'),
    (dict(update=dict(days=2), k=2), 'update'),
    (dict(rule='spwc'), 'mu|k'),
    (dict(rule='spwc', k=2, mu=1.), 'mu|k'),
    (dict(rule='sbwc', k=2), 'spwc'),
])
def test_wrong_options(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        hook(**options)
