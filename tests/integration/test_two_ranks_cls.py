"""Two processes that learn tasks give what one gives."""
import pytest
import torch
from digit_runs import (
    digits,
    train,
    weights,
)
from forked_ranks import on_ranks
from safetensors.torch import load_file

from mmseg_spwc.record import Record

LABELS = 'method.every.hooks.consolidation.importance.labels'
# of float32 sums in another order, grown over a hundred updates
TOLERANCE = 1e-4


def test_ewc_with_spwc(tmp_path):
    """Labels are not drawn: each rank would draw others than one alone."""
    one, two = (digits(tmp_path / name, 'ewc-spwc', launcher=launcher,
                       **{LABELS: 'exact'})
                for name, launcher in (('one', 'none'), ('two', 'pytorch')))
    train(one)
    # every step compares the hashes of weights, importances and scores
    assert on_ranks(tmp_path / 'meet', train, two) == ['done', 'done']
    for step in range(3):
        assert_close(weights(one, step), weights(two, step), TOLERANCE)
        file = f'consolidation/task_{step:03d}.safetensors'
        a, b = (load_file(f'{cfg.work_dir}/{file}') for cfg in (one, two))
        scale = max(t.max().item() for k, t in a.items() if 'imp' in k)
        assert_close(a, b, TOLERANCE * max(1., scale))
    records = [Record.read(cfg.work_dir) for cfg in (one, two)]
    for a, b in zip(*(r.steps for r in records), strict=True):
        assert a['images'] == b['images']
        assert a['consolidation'] == b['consolidation']
        # one digit of the 288 held out, and of the 359 of a test, may flip
        assert a['kpi']['step'] == pytest.approx(b['kpi']['step'], abs=.004)
        if a['priority']:
            assert a['priority']['v'] == pytest.approx(
                b['priority']['v'], abs=.02)
    assert records[1].step(2)['priority']['v'].count(0.) == 1
    assert records[1].content['run']['world_size'] == 2


def assert_close(a: dict, b: dict, atol: float) -> None:
    assert a.keys() == b.keys()
    for key in a:
        torch.testing.assert_close(a[key], b[key], atol=atol, rtol=0, msg=key)
