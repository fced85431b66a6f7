"""The running mean of squared gradients, number by number."""
import pytest
import torch

from mmseg_spwc.consolidation import EMAImportance, StepStore


def running(values, start, alpha=0.9):
    for g in values:
        start = alpha * g * g + (1 - alpha) * start
    return start


def test_running_mean_goes_on_over_steps_and_is_scaled_when_used(tmp_path):
    store, kind = StepStore(tmp_path), EMAImportance()
    old = torch.nn.Parameter(torch.zeros(3))
    new = torch.nn.Parameter(torch.zeros(1))
    frozen = torch.nn.Parameter(torch.zeros(2))
    grads = [torch.tensor(g) for g in ([1., 2., 3.], [.5, -1., 0.])]
    kind.begin(dict(old=old, frozen=frozen), store, 0)
    for old.grad in grads:
        kind.before_update(dict(old=old, frozen=frozen))
    found = kind.estimate(None, None, None)
    store.save(0, found, dict(old=old, frozen=frozen))
    wanted = [running([g[i].item() for g in grads], 1.) for i in range(3)]
    assert found['old'].tolist() == pytest.approx(wanted, rel=1e-6)
    assert found['frozen'].tolist() == [1., 1.]

    kind = EMAImportance()
    kind.begin(dict(old=old, new=new), store, 1)
    old.grad, new.grad = grads[0], torch.tensor([2.])
    kind.before_update(dict(old=old, new=new))
    found = kind.estimate(None, None, None)
    wanted = [running([grads[0][i].item()], w) for i, w in enumerate(wanted)]
    assert found['old'].tolist() == pytest.approx(wanted, rel=1e-6)
    assert found['new'].item() == pytest.approx(0.9 * 4 + 0.1)
    scaled = kind.prepare(found)
    low, high = min(wanted), max(wanted)
    assert scaled['old'].tolist() == pytest.approx(
        [(w - low) / (high - low) for w in wanted], abs=1e-6)
    assert scaled['new'].item() == 0
    other = EMAImportance()
    other.load_state_dict(kind.state_dict())
    assert torch.equal(other.estimate(None, None, None)['old'], found['old'])


def test_a_step_that_was_not_trained_has_none():
    with pytest.raises(RuntimeError, match='was not trained'):
        EMAImportance().estimate(None, None, None)
