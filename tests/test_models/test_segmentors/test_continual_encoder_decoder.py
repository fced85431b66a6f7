"""The student: grown heads, a hidden teacher, losses that ask by name."""
import copy

import pytest
import torch
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample
from segmentor_parts import batch, build
from torch import nn

from mmseg_spwc.models import pseudo_label, taps
from mmseg_spwc.models.pseudo_label import PseudoLabeller
from mmseg_spwc.models.segmentor import labels_of
from mmseg_spwc.models.taps import OldPass, predicted


class Keeps(nn.Module):
    """A loss that shows what it was given."""

    def __init__(self):
        super().__init__()
        self.got = None


class KeepsAll(Keeps):

    def forward(self, logits, features, stages, old_logits, old_features,
                given, labels, named, pixel_weight, old_weight, class_weight,
                classifier, old_classifier, num_new, num_old):
        self.got = dict(locals())
        return logits.square().mean()


class KeepsTargets(Keeps):

    def forward(self, labels, pixel_weight):
        self.got = dict(locals())
        return torch.zeros(())


class KeepsWeights(Keeps):

    def forward(self, pixel_weight, old_weight):
        self.got = dict(locals())
        return torch.zeros(())


class AsksTooMuch(nn.Module):

    def forward(self, logits, moon):
        return logits.sum()


def test_loss_is_mmsegs_cross_entropy(tiny_config):
    model = build(tiny_config(), 1)
    inputs, samples = batch()
    model.eval()
    ours = model.loss(inputs, samples)
    theirs = model.decode_head.loss(model.extract_feat(inputs), samples, None)
    torch.testing.assert_close(ours['loss_pixel'], theirs['loss_ce'])


def test_importances_leave_out_what_is_ignored(tiny_config):
    labels = torch.tensor([[[0, 255], [3, 7]], [[255, 255], [1, 0]]])
    samples = [SegDataSample(gt_sem_seg=PixelData(data=x[None].to(
        torch.uint8))) for x in labels]
    got = build(tiny_config(), 0).active_labels(samples)
    assert got.dtype == torch.int64
    assert got.tolist() == [[[0, -100], [3, 7]], [[-100, -100], [1, 0]]]


def test_teacher_is_hidden_frozen_and_moves_along(tiny_config):
    student, teacher = build(tiny_config(), 1), build(tiny_config(), 0)
    keys, count = set(student.state_dict()), len(list(student.parameters()))
    student.set_teacher(teacher)
    assert set(student.state_dict()) == keys
    assert len(list(student.parameters())) == count
    student.train()
    assert not teacher.training
    assert not any(p.requires_grad for p in teacher.parameters())
    student.double()
    assert next(teacher.parameters()).dtype == torch.float64


def test_one_teacher_pass_a_batch_and_none_without_need(tiny_config):
    kd = dict(type='mmseg_spwc.UnbiasedDistillationLoss')
    for losses, passes in ((dict(), 0), (dict(kd=kd, again=kd), 1)):
        student, teacher = (build(tiny_config(), 1, **losses),
                            build(tiny_config(), 0))
        assert student.needs_teacher == bool(losses)
        student.set_teacher(teacher)
        calls = []
        teacher.backbone.register_forward_hook(
            lambda *_, calls=calls: calls.append(1))
        student.loss(*batch())
        assert len(calls) == passes


def test_distillation_without_a_teacher_is_explained(tiny_config):
    model = build(
        tiny_config(), 1, kd=dict(type='mmseg_spwc.UnbiasedDistillationLoss'))
    with pytest.raises(RuntimeError, match='previous model'):
        model.loss(*batch())


def test_losses_get_what_they_ask_for(tiny_config):
    student = build(tiny_config(), 1).eval()
    teacher = build(tiny_config(), 0)
    student.losses['all'] = KeepsAll()
    assert student.needs_teacher
    student.set_teacher(teacher)
    inputs, samples = batch()
    value = student.loss(inputs, samples)['loss_all']
    got = student.losses['all'].got
    assert set(student.quantities.__annotations__) <= set(got)
    assert (got['num_old'], got['num_new']) == (5, 3)
    assert got['pixel_weight'] is None
    assert torch.equal(got['labels'], labels_of(samples))
    for prefix, model in (('', student), ('old_', teacher)):
        small = model(inputs, mode='tensor')
        torch.testing.assert_close(got[f'{prefix}features'].logits, small)
        torch.testing.assert_close(
            got[f'{prefix}logits'], nn.functional.interpolate(
                small, (48, 48), mode='bilinear'))
    assert not got['old_logits'].requires_grad
    torch.testing.assert_close(value, got['logits'].square().mean())


def test_a_loss_that_asks_too_much_is_told_what_there_is(tiny_config):
    model = build(tiny_config(), 1)
    model.losses['moon'] = AsksTooMuch()
    with pytest.raises(TypeError, match="asks for 'moon'.*known are logits"):
        model.loss(*batch())


def test_new_channels_and_void_pixels_keep_weight_one(tiny_config):
    model = build(tiny_config(), 1)
    model.set_priorities([.1, .2, .3, .4, .5])
    torch.testing.assert_close(
        model.priorities[:6], torch.tensor([.1, .2, .3, .4, .5, 1.]))
    assert (model.priorities[5:] == 1).all()
    assert len(model.priorities) == 256


@pytest.mark.parametrize('relabelled', [False, True])
def test_priorities_weight_the_pixels_of_old_units(tiny_config, relabelled):
    student, teacher = (build(tiny_config(), step).eval() for step in (1, 0))
    student.losses['targets'] = KeepsTargets()
    weights = [0., .25, .5, .75, 2.]
    student.set_priorities(weights)
    assert student.needs_teacher
    student.set_teacher(teacher)
    inputs, samples = batch()
    given = labels_of(samples)
    seen = nn.functional.interpolate(
        teacher(inputs, mode='tensor'), (48, 48), mode='bilinear')
    share = torch.ones(2)
    if relabelled:
        sureness, background = seen.softmax(1).amax(1), given < 5
        student.pseudo_label = PseudoLabeller(float(sureness.median()))
        sure = background & (sureness > sureness.median())
        share = sure.sum((1, 2)) / background.sum((1, 2))
        assert share.min() > 0 and share.max() < 1
    student.loss(inputs, samples)
    got = student.losses['targets'].got
    for b, y, x in ((0, 0, 0), (0, 9, 9), (1, 20, 31), (1, 40, 3), (0, 47, 7)):
        label = int(given[b, y, x])
        unit = int(seen[b, :, y, x].argmax()) if label < 5 else label
        expected = (weights[unit] if unit < 5 else 1.) * share[b]
        torch.testing.assert_close(got['pixel_weight'][b, y, x], expected)


def test_a_replayed_old_label_is_its_pixels_label_and_unit(tiny_config):
    student, teacher = (build(tiny_config(), step).eval() for step in (1, 0))
    student.losses['targets'] = KeepsTargets()
    weights = torch.tensor([0., .25, .5, .75, 2.])
    student.set_priorities(weights.tolist())
    student.set_teacher(teacher)
    student.pseudo_label = PseudoLabeller(confidence=0., adaptive=False)
    inputs, samples = batch()
    for sample, span in zip(samples, [(5, 8), (1, 5)], strict=True):
        sample.set_metainfo(dict(labelled=span))
    given = labels_of(samples)
    student.loss(inputs, samples)
    got = student.losses['targets'].got
    old = (given > 0) & (given < 5)
    assert torch.equal(got['labels'][1][old[1]], given[1][old[1]])
    assert torch.equal(got['pixel_weight'][1][old[1]],
                       weights[given[1][old[1]]])
    assert not torch.equal(got['labels'][0][old[0]], given[0][old[0]])
    # what the labels of its own step do not name, the old model says
    seen = nn.functional.interpolate(
        teacher(inputs, mode='tensor'), (48, 48), mode='bilinear').argmax(1)
    assert torch.equal(got['labels'][1][given[1] == 0],
                       seen[1][given[1] == 0])


@pytest.mark.parametrize('on', ['pixel', 'distillation', 'both'])
def test_priorities_act_on_the_losses_they_are_meant_for(tiny_config, on):
    student, teacher = (build(tiny_config(), step).eval() for step in (1, 0))
    student.losses['both'] = KeepsWeights()
    student.priority_on = on
    weights = torch.tensor([0., .25, .5, .75, 2.])
    student.set_priorities(weights.tolist())
    student.set_teacher(teacher)
    inputs, samples = batch()
    seen = nn.functional.interpolate(
        teacher(inputs, mode='tensor'), (48, 48), mode='bilinear').argmax(1)
    student.loss(inputs, samples)
    got = student.losses['both'].got
    assert (got['pixel_weight'] is None) == (on == 'distillation')
    if on == 'pixel':
        assert got['old_weight'] is None
    else:  # whatever the label: the old model is what is distilled
        torch.testing.assert_close(got['old_weight'], weights[seen])


def test_unknown_losses_for_priorities_are_refused(tiny_config):
    cfg = tiny_config()
    cfg.model.priority_on = 'cube'
    with pytest.raises(ValueError, match='pixel, distillation, both'):
        build(cfg, 1)


def test_features_are_the_stages_the_decoder_and_the_logits(tiny_config):
    model = build(tiny_config(), 1)
    outputs = model.tapped_forward(batch()[0])
    stages = model.extract_feat(batch()[0])
    maps = outputs.features
    torch.testing.assert_close(maps.stages, tuple(stages))
    torch.testing.assert_close(
        model.decode_head.conv_seg(maps.decoder), maps.logits)
    assert [*maps] == [*maps.stages, maps.decoder, maps.logits]


def test_frozen_norms_keep_statistics_and_parameters(tiny_config):
    cfg = tiny_config()
    cfg.model.frozen_norm = r'^backbone\.'
    model = build(cfg, 1)
    model.train()
    before = copy.deepcopy(model.state_dict())
    losses = model.loss(*batch())
    losses['loss_pixel'].backward()
    after = model.state_dict()
    moved = {k for k in after if 'running_mean' in k
             and not torch.equal(after[k], before[k])}
    assert moved and not any(k.startswith('backbone') for k in moved)
    assert model.backbone.bn1.weight.grad is None
    assert model.backbone.conv1.weight.grad is not None


@pytest.mark.parametrize('frozen_branch', [True, False])
def test_frozen_norms_stay_frozen_in_branches_and_when_they_are_merged(
        tiny_config, frozen_branch):
    cfg = tiny_config()
    cfg.model.frozen_norm = r'\.bn2$|aspp_norm$'
    cfg.model.rc = dict(
        match=r'(\.conv2|aspp_convs\.\d)$', frozen=frozen_branch)
    model = build(cfg, 1).train()
    fused = model.backbone.layer1[0].bn2
    before = copy.deepcopy(model.state_dict())
    model.loss(*batch())['loss_pixel'].backward()
    after = model.state_dict()
    moved = {k for k in after if 'running_mean' in k
             and not torch.equal(after[k], before[k])}
    assert moved and not any('bn2' in k or 'aspp_norm' in k for k in moved)
    # both branches keep their norm, and channels are still drawn from either
    assert fused.training and not (fused.old.training or fused.new.training)
    assert fused.new.weight.grad is None
    model.to_plain()
    assert not model.train().backbone.layer1[0].bn2.training
    assert model.backbone.layer1[0].bn1.training
    model.eval()


def test_auxiliary_heads_learn_by_the_pixel_loss(tiny_config):
    cfg = tiny_config()
    head = copy.deepcopy(cfg.model.decode_head)
    head.loss_decode = dict(type='CrossEntropyLoss', loss_weight=0.4)
    cfg.model.auxiliary_head = head
    model = build(cfg, 1).eval()
    assert model.auxiliary_head.conv_seg.channels == (5, 3)
    inputs, samples = batch()
    losses = model.loss(inputs, samples)
    theirs = model.auxiliary_head.loss(
        model.extract_feat(inputs), samples, None)
    torch.testing.assert_close(losses['loss_aux_0'], theirs['loss_ce'])


def test_a_step_with_a_teacher_tells_what_is_left_of_the_background(
        tiny_config):
    kd = dict(type='mmseg_spwc.UnbiasedDistillationLoss')
    student, teacher = (build(tiny_config(), 1, kd=kd).eval(),
                        build(tiny_config(), 0).eval())
    assert 'bg_kept' not in build(tiny_config(), 1).loss(*batch())
    student.set_teacher(teacher)
    assert 0 <= student.loss(*batch())['bg_kept'] <= 100


def test_the_old_class_of_a_pixel_is_found_once_a_batch(
        tiny_config, monkeypatch):
    student, teacher = (build(tiny_config(), step).eval() for step in (1, 0))
    student.losses['both'] = KeepsWeights()
    student.priority_on = 'both'
    student.pseudo_label = PseudoLabeller(confidence=0.5)
    student.set_priorities([0., .25, .5, .75, 2.])
    student.set_teacher(teacher)
    calls = []

    def counted(logits):
        calls.append(logits.shape)
        return predicted(logits)

    for module in (taps, pseudo_label):
        monkeypatch.setattr(module, 'predicted', counted)
    student.loss(*batch())
    assert len(calls) == 1


def test_labels_of_old_classes_are_weighted_by_what_the_old_model_sees(
        tiny_config):
    """As in joint training, or where data show old classes."""
    student = build(tiny_config(), 1)
    student.set_priorities([.1, .2, .3, .4, .5])
    old = OldPass(logits=torch.eye(5)[[3, 2, 1, 0]].T[None, :, None])
    given = torch.tensor([[[0, 4, 5, 255]]])
    torch.testing.assert_close(student._weigh(given, old, None),
                               torch.tensor([[[.4, .3, 1., 1.]]]))


def test_in_a_new_domain_every_pixel_is_weighted_by_its_label(tiny_config):
    student = build(tiny_config(), 1)
    student.num_new = 0
    student.set_priorities([.1, .2, .3, .4, .5])
    given = torch.tensor([[[0, 4, 2, 255]]])
    torch.testing.assert_close(student._weigh(given, OldPass(), None),
                               torch.tensor([[[.1, .5, .3, 1.]]]))
