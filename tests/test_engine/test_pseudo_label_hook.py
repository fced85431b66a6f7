"""One pass of the old model, before training, gives the thresholds."""
from types import SimpleNamespace

import pytest
import torch
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample
from torch import nn

from mmseg_spwc.engine.hooks import PseudoLabelHook, pseudo_label_hook
from mmseg_spwc.models.pseudo_label import EntropyThresholds, PseudoLabeller

NUM_OLD, CHANNELS = 5, (3, 2, 1)


class Student(nn.Module):
    """What the hook asks of one; the teacher's logits are the inputs."""
    channels = CHANNELS

    def __init__(self, labeller):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.pseudo_label = labeller
        self.teacher = SimpleNamespace(
            tapped_forward=lambda x: SimpleNamespace(
                features=SimpleNamespace(logits=x)))

    def data_preprocessor(self, batch, training):
        torch.rand(3)  # as an augmentation draws
        return batch

    def upsample(self, logits, size):
        return nn.functional.interpolate(logits, size, mode='bilinear')


@pytest.fixture
def batches():
    torch.manual_seed(0)
    sample = [SegDataSample(gt_sem_seg=PixelData(
        data=torch.randint(0, 6, (1, 8, 8)))) for _ in range(2)]
    return [dict(inputs=3 * torch.randn(1, NUM_OLD, 4, 4), data_samples=[s])
            for s in sample]


def run(labeller, batches):
    student = Student(labeller)
    PseudoLabelHook().before_train(
        SimpleNamespace(model=student, train_dataloader=batches))


def counted(batches):
    entropies = EntropyThresholds(sum(CHANNELS))
    for batch in batches:
        labels = batch['data_samples'][0].gt_sem_seg.data
        entropies.update(nn.functional.interpolate(
            batch['inputs'], (8, 8), mode='bilinear'), labels, NUM_OLD)
    return entropies


@pytest.mark.parametrize('portion', [.2, .8])
def test_thresholds_are_those_of_all_old_classes(batches, portion):
    labeller = PseudoLabeller(portion=portion)
    run(labeller, batches)
    torch.testing.assert_close(
        labeller.thresholds, counted(batches).thresholds(portion=portion))


def test_histograms_are_summed_over_processes(batches, monkeypatch):
    labeller, summed = PseudoLabeller(), []
    monkeypatch.setattr(pseudo_label_hook, 'all_reduce', summed.append)
    run(labeller, batches)
    assert torch.equal(summed[0], counted(batches).histogram)


def test_the_pass_draws_nothing_from_the_training(batches):
    before = torch.get_rng_state()
    run(PseudoLabeller(), batches)
    assert torch.equal(torch.get_rng_state(), before)
