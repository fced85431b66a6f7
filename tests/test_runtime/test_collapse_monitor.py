"""Runs that learn nothing are told apart from those that learn."""
from types import SimpleNamespace

import pytest
import torch
from mmengine.logging import MessageHub
from toy_runs import At, Points, Toy, toy_runner

from mmseg_spwc.runtime import CollapseMonitorHook


@pytest.fixture
def said(monkeypatch):
    texts = []
    monkeypatch.setattr(
        'mmseg_spwc.runtime.collapse_monitor.warn',
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
    hook.after_test_iter(None, 0, None, samples)
    hook.after_test_epoch(SimpleNamespace(visualizer=SimpleNamespace(
        dataset_meta=dict(classes=('bus', 'cat', 'dog', 'cow', 'boat')))))
    assert 'class boat is 100.0%' in said[1]


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


def test_a_background_that_goes_away_is_told_once_with_remedies(said):
    hub = MessageHub.get_instance('a background that goes away')
    runner = SimpleNamespace(message_hub=hub, iter=0)
    hook = CollapseMonitorHook(window=10_000)
    for runner.iter in range(200):
        hub.update_scalar('train/bg_kept', 95. if runner.iter < 100 else 40.)
        hook.after_train_iter(runner, runner.iter)
        assert not said or runner.iter >= 100
    assert len(said) == 1
    assert 'background is being lost' in said[0] and '\n' not in said[0]
    for remedy in ('classifier_init', 'new_offset', 'frozen_norm'):
        assert remedy in said[0]


def test_without_a_teacher_nothing_is_known_of_the_background(said):
    hub = MessageHub.get_instance('no teacher')
    runner = SimpleNamespace(message_hub=hub, iter=19)
    CollapseMonitorHook().after_train_iter(runner, 19)
    assert said == []


def test_one_class_alone_is_no_collapse_where_the_labels_show_no_other(said):
    hook = CollapseMonitorHook()
    for _ in range(2):
        hook.after_val_iter(None, 0, None, scored(
            torch.zeros(1, 10, 10, dtype=torch.long),
            torch.zeros(1, 10, 10, dtype=torch.long)))
        hook.after_val_epoch(None)
    assert said == []


def test_every_pass_over_the_images_is_judged_alone(said):
    hook = CollapseMonitorHook()
    true = torch.arange(100).view(1, 10, 10) % 2
    hook.after_val_iter(None, 0, None, scored(true, true))
    hook.after_val_epoch(None)
    hook.after_val_iter(None, 0, None, scored(torch.zeros_like(true), true))
    hook.after_val_epoch(None)
    assert len(said) == 1
