"""ALIFE-M's stages on networks whose features are known."""
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional

from mmseg_spwc.engine.hooks.feature_replay_hook import (
    ClassifierOptions,
    RotationOptions,
    rotate_memory,
    train_classifiers,
)
from mmseg_spwc.models.feature_replay import FeatureMemory
from mmseg_spwc.models.growing import GrowingClassifier
from mmseg_spwc.models.quantities import Maps

DIM = 3


class Network(nn.Module):
    """Its decoder map is the image, turned and moved."""
    def __init__(self, channels, turn=None, shift=None):
        super().__init__()
        self.turn = torch.eye(DIM) if turn is None else turn
        self.shift = torch.zeros(DIM) if shift is None else shift
        self.decode_head = nn.Module()
        self.decode_head.conv_seg = GrowingClassifier(DIM, channels)
        self.__dict__['teacher'] = None

    def data_preprocessor(self, batch, training):
        return batch

    def tapped_forward(self, inputs):
        features = torch.einsum('de,behw->bdhw', self.turn, inputs)
        features = features + self.shift[:, None, None]
        logits = self.decode_head.conv_seg(features)
        return SimpleNamespace(features=Maps((features, logits)))

    def upsample(self, logits, size):
        return functional.interpolate(logits, size, mode='bilinear')


class Batches(list):
    sampler = SimpleNamespace(set_epoch=lambda epoch: None)


def batch_of(inputs, labels):
    samples = [
        SimpleNamespace(gt_sem_seg=SimpleNamespace(data=label[None]))
        for label in labels
    ]
    return dict(inputs=inputs, data_samples=samples)


@pytest.fixture
def networks():
    torch.manual_seed(0)
    turn = torch.linalg.matrix_exp(
        torch.tensor([[0., .6, -.3], [-.6, 0., .8], [.3, -.8, 0.]]))
    student = Network((3, 2), turn, torch.tensor([1., -2., .5]))
    student.__dict__['teacher'] = Network((3,))
    return student


def memory_around(*centres):
    memory = FeatureMemory(4)
    for label, centre in enumerate(centres, 1):
        memory.add(label, torch.tensor(centre) + 0.1 * torch.randn(9, DIM))
    return memory


def test_the_memory_follows_a_network_that_has_turned(networks):
    memory = memory_around([2., 0., 0.], [0., -2., 1.])
    old = memory.stacked()
    labels = torch.zeros(8, 4, 4, dtype=torch.long)
    loader = Batches(
        batch_of(torch.randn(8, DIM, 4, 4), labels) for _ in range(4))
    # means over the loader's images differ from 0, and turn with the rest
    rotate_memory(networks, loader, memory,
                  RotationOptions(lr=0.05, epochs=60, mix=1.))
    expected = old @ networks.turn.T + networks.shift
    found = memory.stacked()
    assert (found - expected).norm() < 0.05 * (old - expected).norm()
    assert all(p.grad is None for p in networks.parameters())


def test_the_classifier_step_is_that_of_the_written_loss(networks):
    torch.manual_seed(1)
    memory = memory_around([2., 0., 0.], [0., -2., 1.])
    inputs = torch.randn(2, DIM, 4, 4)
    labels = torch.randint(0, 5, (2, 4, 4))
    labels[labels == 1] = 0
    labels[labels == 2] = 255
    classifier = networks.decode_head.conv_seg
    weight = torch.cat([c.weight[:, :, 0, 0] for c in classifier.convs])
    bias = torch.cat([c.bias for c in classifier.convs])
    weight, bias = (x.detach().requires_grad_() for x in (weight, bias))
    loss = _written_loss(networks, memory, inputs, labels, weight, bias)
    gradient = torch.autograd.grad(loss, weight)[0]
    stage = ClassifierOptions(lr=0.1, epochs=1, ali=3., mem=2.)
    found = train_classifiers(networks, Batches([batch_of(inputs, labels)]),
                              memory, stage)
    assert found == pytest.approx(loss.item(), rel=1e-5)
    moved = torch.cat([c.weight[:, :, 0, 0] for c in classifier.convs])
    torch.testing.assert_close(
        moved, (weight - 0.1 * (gradient + 1e-4 * weight)).detach())


def _written_loss(student, memory, inputs, labels, weight, bias):
    """Pixel by pixel, with factors ali 3 and mem 2."""
    focal, ali, replay = [], [], []
    old = student.teacher.decode_head.conv_seg.convs[0]
    for image, mask in zip(inputs, labels, strict=True):
        for y in range(4):
            for x in range(4):
                pixel = image[:, y, x]
                scores = weight @ (student.turn @ pixel + student.shift) + bias
                p = scores.exp() / scores.exp().sum()
                q = (old.weight[:, :, 0, 0] @ pixel + old.bias).softmax(0)
                q = q.detach()
                label = int(mask[y, x])
                if label == 0:
                    ali.append(-sum(q[c] * p[c].log() for c in range(3)))
                    label = int(q.argmax())
                if label != 255:
                    focal.append(-(1 - p[label])**2 * p[label].log())
    for label in memory.classes:
        for feature in memory.features[label]:
            scores = weight @ feature + bias
            replay.append(-functional.log_softmax(scores, 0)[label])
    return (sum(focal) / labels.numel() + 3 * sum(ali) / len(ali) +
            2 * sum(replay) / len(replay))
