"""How scores become weights of pixels and of penalties."""
import pytest
import torch

from mmseg_spwc.engine.hooks import SelfPacedHook
from mmseg_spwc.engine.hooks.self_paced_hook import best_of
from mmseg_spwc.selfpaced import priority_weights

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


def test_best_of_skips_what_was_not_measured():
    assert best_of([[0.9, None], [0.5, 0.2, 0.7]]) == [0.9, 0.2, 0.7]


@pytest.mark.parametrize('options, message', [
    (dict(unit='pixel', k=2), 'unit'),
    (dict(update='sometimes', k=2), 'update'),
    (dict(update=dict(days=2), k=2), 'update'),
    (dict(rule='spwc'), 'mu|k'),
    (dict(rule='spwc', k=2, mu=1.), 'mu|k'),
    (dict(rule='sbwc', k=2), 'spwc'),
])
def test_wrong_options(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        hook(**options)
