"""Runs that learn nothing are told apart from those that learn."""
import pytest
import torch
from toy_runs import At, Points, Toy, toy_runner

from mmseg_spwc.engine.safety import CollapseMonitorHook


@pytest.fixture
def said(monkeypatch):
    texts = []
    monkeypatch.setattr(
        'mmseg_spwc.engine.safety.collapse_monitor.warn',
        texts.append)
    return texts


class Map:

    def __init__(self, data):
        self.data = data


def scored(predicted, true):
    return [dict(pred_sem_seg=Map(predicted), gt_sem_seg=Map(true))]


def test_collapse_to_background(said):
    true = torch.zeros(1, 10, 10, dtype=torch.long)
    true[:, :5] = 1
    true[:, :, 9] = 255
    hook = CollapseMonitorHook()
    wrong = torch.zeros_like(true)
    wrong[:, :, 9] = 3  # where nobody knows the truth
    for predicted, truth, warns in (
        (wrong, true, True),
        (true.clamp(max=1), true, False),
        (wrong, torch.zeros_like(true), False)):
        said.clear()
        hook.after_val_iter(None, 0, None, scored(predicted, truth))
        hook.after_val_epoch(None)
        assert bool(said) == warns
        if warns:
            assert 'class 0 is 100.0%' in said[0] and '50.0%' in said[0]


def test_collapse_of_a_classifier(said):
    hook = CollapseMonitorHook()
    samples = [dict(pred_label=torch.tensor([4]),
                    gt_label=torch.tensor([i % 5])) for i in range(20)]
    hook.after_test_iter(None, 0, None, samples)
    hook.after_test_epoch(None)
    assert 'class 4 is 100.0%' in said[0] and '20.0%' in said[0]


class OnePoint(Points):

    def __getitem__(self, key):
        return super().__getitem__((0, 0))


def calm():
    """A model whose loss is a smooth function of its weights."""
    model = Toy()
    model.drop.p = 0.
    return model


def test_a_loss_that_does_not_fall(tmp_path, said):
    toy_runner(tmp_path / 'falls', length=8, model=calm(), dataset=OnePoint(),
               hooks=[CollapseMonitorHook(window=24)]).train()
    assert said == []

    def climb(runner):
        runner.optim_wrapper.optimizer.param_groups[0]['lr'] = -0.001

    toy_runner(tmp_path / 'rises', length=8, model=calm(),
               dataset=OnePoint(), hooks=[
        CollapseMonitorHook(window=12),
        *(At(i, climb) for i in range(24))]).train()
    assert len(said) == 1 and 'does not fall' in said[0]
    with pytest.raises(ValueError, match='window'):
        CollapseMonitorHook(window=1)
