"""SSUL: a frozen network, heads of their own, and a channel of the unknown."""
import math
import sys
from pathlib import Path

import pytest
import torch
from mmengine.config import Config

from mmseg_spwc.apis.publish import publish
from mmseg_spwc.engine import ContinualRunner, step_config
from mmseg_spwc.errors import ConfigError
from mmseg_spwc.models.growing import GrowingClassifier
from mmseg_spwc.models.losses import ClassBCELoss
from mmseg_spwc.models.pseudo_label import PseudoLabeller
from mmseg_spwc.models.segmentor import unknown_joined
from mmseg_spwc.models.taps import OldPass
from mmseg_spwc.registry import MODELS
from mmseg_spwc.runtime.checkpoint import load_step
from mmseg_spwc.scenario import build_scenario

ROOT = Path(__file__).resolve().parents[2]
METHODS = ROOT / 'configs/_base_/methods'
sys.path.append(str(ROOT / 'tests/test_models/test_segmentors'))
from segmentor_parts import batch  # noqa: E402


@pytest.fixture(scope='module')
def run(config_in, tmp_path_factory):
    cfg = config_in(tmp_path_factory.mktemp('ssul'), **{
        'scenario.steps': [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]],
        'train_cfg.max_epochs': 1, 'schedule.later.train_cfg.max_epochs': 1})
    cfg.method = Config.fromfile(METHODS / 'ssul.py').method
    ContinualRunner(cfg).train()
    return cfg


def final(cfg, step):
    return load_step(f'{cfg.work_dir}/step_{step:02d}/final.pth')[
        'state_dict']


def test_two_heads_alone_are_trained(run):
    first, last = final(run, 0), final(run, 1)
    place = 'decode_head.conv_seg.'
    moved = {key for key in first if not torch.equal(first[key], last[key])}
    assert moved == {f'{place}extra.0.weight', f'{place}extra.3.weight',
                     f'{place}extra.3.bias'}
    assert {key for key in last if key not in first} == {
        key for key in last if f'{place}convs.1.' in key}
    norms = [key for key in last if 'convs.1.1.' in key]
    assert norms and all(
        torch.equal(last[key], last[key.replace('convs.1', 'extra')])
        for key in norms)


def test_a_step_is_not_published(run, tmp_path):
    with pytest.raises(ConfigError, match='hidden layers'):
        publish(run.work_dir, tmp_path / 'm.pth')


def test_it_predicts_seen_channels_alone(run):
    scenario = build_scenario(run.scenario.to_dict())
    model = MODELS.build(step_config(run, scenario, 1).model).eval()
    model.load_state_dict(final(run, 1))
    x = torch.randn(2, 3, 48, 48)
    samples = model.predict(x)
    p = model.upsample(model(x, mode='tensor'), (48, 48)).sigmoid()
    assert p.shape[1] == 12
    p[:, 0] += p[:, 11]
    found = torch.cat([s.pred_sem_seg.data for s in samples])
    assert torch.equal(found, p[:, :11].argmax(1))


def test_a_new_head_starts_as_that_of_the_unknown():
    made = GrowingClassifier(6, (3, 2), unknown=True, hidden=True)
    made.initialise_new('extra')
    logits = made(torch.randn(2, 6, 5, 5))
    assert logits.shape[1] == made.out_channels == 6
    torch.testing.assert_close(
        logits[:, 3:5], logits[:, 5:].expand(-1, 2, -1, -1))
    with pytest.raises(ValueError, match='features of their own'):
        made.initialise_new('balanced')
    with pytest.raises(ValueError, match='no plain 1x1'):
        made.to_conv()


@pytest.fixture
def later(run):
    """Step 1 with its batch; labels and what a replayed image names."""
    scenario = build_scenario(run.scenario.to_dict())

    def make(labels, named=(6, 11)):
        model = MODELS.build(step_config(run, scenario, 1).model)
        model.initialise_new('extra')
        model.set_teacher(MODELS.build(step_config(run, scenario, 0).model))
        inputs, samples = batch()
        for sample in samples:
            sample.gt_sem_seg.data = torch.full_like(
                sample.gt_sem_seg.data, labels)
            sample.set_metainfo(dict(labelled=named))
        return model, inputs, samples

    return make


def test_the_unknown_counts_as_background_in_the_accuracy_that_is_logged(
        later):
    model, inputs, samples = later(0)
    model.decode_head.conv_seg.extra[-1].bias.data.fill_(50.)
    assert model.loss(inputs, samples)['acc_seg'] == 100


@pytest.mark.parametrize(('label', 'raised'), [(0, 11), (3, 3), (8, 8)])
def test_a_replayed_label_belongs_to_its_own_channel(later, label, raised):
    """The published code trains the channel below, and the new one never."""
    model, inputs, samples = later(label, (1, 11))
    model.pseudo_label = None
    logits = []
    upsample = model.upsample
    model.upsample = lambda *args: logits.append(upsample(*args)) or logits[-1]
    loss = model.loss(inputs, samples)['loss_pixel']
    gradient, = torch.autograd.grad(loss, logits[-1])
    up = (gradient < 0).all(dim=3).all(dim=2).all(dim=0)  # descent raises it
    assert up.nonzero().flatten().tolist() == [raised]
    loss = model.loss(inputs, samples)['loss_pixel']
    loss.backward()
    moved = [name for name, p in model.named_parameters()
             if p.grad is not None and p.grad.any()]
    assert moved and all('convs.1' in m or 'extra' in m for m in moved)


# background, class, unknown
Z = torch.tensor([math.log(3), -math.log(3), 0.]).view(1, 3, 1, 1)


def test_numbers_of_one_pixel():
    background = torch.tensor([[[0]]])
    loss = ClassBCELoss(mean='valid')(Z, background)
    assert loss.item() == pytest.approx(1.268511, abs=1e-6)
    loss = ClassBCELoss(unknown=True, mean='valid')(Z, background)
    assert loss.item() == pytest.approx(
        math.log(2) + math.log(4) + math.log(4 / 3), abs=1e-6)
    joined = unknown_joined(Z)
    assert joined.shape == (1, 2, 1, 1) and joined.argmax(1).item() == 0
    assert joined[0, 0].item() == pytest.approx(
        math.log((1 - 1e-6) / 1e-6), rel=1e-2)  # .5 + .75 is cut off
    low = unknown_joined(Z - 2)
    p = (Z - 2).sigmoid().flatten()
    assert low.sigmoid().flatten().tolist() == pytest.approx(
        [float(p[0] + p[2]), float(p[1])])


def test_the_mean_is_over_labelled_pixels():
    logits = torch.randn(2, 4, 5, 5, dtype=torch.float64)
    labels = torch.randint(0, 3, (2, 5, 5))
    labels[:, :2] = 255
    one_hot = torch.zeros_like(logits)
    for c in range(4):  # the background is of channel 3
        one_hot[:, c] = labels == (0 if c == 3 else c)
    one_hot[:, 0] = 0
    each = torch.nn.functional.binary_cross_entropy_with_logits(
        logits, one_hot, reduction='none').sum(1)
    torch.testing.assert_close(
        ClassBCELoss(unknown=True, mean='valid')(logits, labels),
        each[labels != 255].mean())


def test_the_old_model_labels_what_it_is_sure_of():
    # channels: background, two classes, the unknown
    rows = torch.tensor([[-9., 2., 0, 0], [-9, .5, 0, 0], [3, 2, 0, 0],
                         [-9, 2, 0, 4], [-9, 2, 0, 0], [-9, 2, 0, 0]])
    old = OldPass(logits=rows.T.reshape(1, 4, 1, 6))
    given = torch.tensor([[[0, 0, 0, 0, 3, 255]]])
    labels, share = PseudoLabeller(.7, score='sigmoid')(old, given, 3)
    # sure, not sure, background, unknown, of a new class, void
    assert labels.flatten().tolist() == [1, 0, 0, 0, 3, 255]
    assert share is None
    labels, _ = PseudoLabeller(1., score='sigmoid')(old, given, 3)
    assert torch.equal(labels, given)
    with pytest.raises(ValueError, match="'sigmoid' with a confidence"):
        PseudoLabeller(score='sigmoid')
