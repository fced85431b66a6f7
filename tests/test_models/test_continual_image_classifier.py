"""Classifiers as students: heads, losses, predictions and teachers."""
import mmseg_spwc  # noqa: F401, I001  (before mmpretrain)

import copy

import pytest
import torch
import torch.nn.functional as F
from mmengine.optim import OptimWrapper
from mmengine.registry import init_default_scope
from mmpretrain.structures import DataSample

import mmseg_spwc.classification  # noqa: F401
from mmseg_spwc.consolidation import fisher_diagonal
from mmseg_spwc.registry import MODELS
from mmseg_spwc.structures import BatchSamples

CE = dict(type='mmseg_spwc.TaskCrossEntropyLoss')
KD = dict(type='mmseg_spwc.HeadDistillationLoss')
MLP = dict(type='mmseg_spwc.MLPBackbone', in_features=12, hidden=(8, ))


@pytest.fixture(autouse=True)
def mmpretrain_scope():
    init_default_scope('mmpretrain')
    torch.manual_seed(0)


def build(channels=(3, 2), per_task=True, kd=False, **options):
    config = dict(
        type='mmseg_spwc.ContinualImageClassifier',
        backbone=MLP,
        head=dict(type='LinearClsHead', num_classes=7, in_channels=8),
        channels=channels,
        per_task=per_task,
        losses=dict(ce=CE, kd=KD if kd else None))
    return MODELS.build(copy.deepcopy(dict(config, **options)))


def batch(labels=(0, 4, 3, 2), tasks=(0, 1, 1, 0)):
    samples = BatchSamples(torch.tensor(labels), torch.tensor(tasks))
    return torch.randn(len(labels), 1, 3, 4), samples


def all_logits(model, inputs):
    """Logits by hand: (B, C)."""
    hidden = model.backbone.layers[0](inputs.flatten(1)).clamp(min=0)
    return torch.cat(
        [F.linear(hidden, *layer.parameters()) for layer in
         model.head.fc.linears], 1)


def test_shared_head_is_mmpretrains_classifier():
    model = build(per_task=False)
    inputs, samples = batch()
    for given in (samples, list(samples)):
        losses = model.loss(inputs, given)
        theirs = model.head.loss(model.extract_feat(inputs), list(samples))
        torch.testing.assert_close(losses['loss_ce'], theirs['loss'])
    scores = all_logits(model, inputs).softmax(1)
    hits = scores.argmax(1) == samples.gt_label
    assert losses['acc'] == 25 * hits.sum() and not losses['acc'].requires_grad
    predicted, = model.predict(inputs, samples)
    torch.testing.assert_close(predicted.pred_score, scores)
    theirs = model.head.predict(model.extract_feat(inputs))
    for sample, other in zip(model.predict(inputs), theirs, strict=True):
        torch.testing.assert_close(sample.pred_score, other.pred_score)
        assert torch.equal(sample.pred_label, other.pred_label)


@pytest.mark.parametrize('as_list', [False, True])
def test_an_image_competes_in_the_head_of_its_task(as_list):
    model = build(freeze_old_heads=False)
    inputs, samples = batch()
    given = list(samples) if as_list else samples
    logits = all_logits(model, inputs)
    expected = hits = 0
    scores = torch.zeros(4, 5)
    for i, (label, task) in enumerate(
            zip(samples.gt_label, samples.task, strict=True)):
        first, last = ((0, 3), (3, 5))[task]
        own = logits[i, first:last]
        scores[i, first:last] = own.softmax(0)
        expected = expected - scores[i, label].log() / 4
        hits += int(own.argmax() + first == label)
    losses = model.loss(inputs, given)
    torch.testing.assert_close(losses['loss_ce'], expected)
    assert losses['acc'] == 25 * hits
    predicted = model.predict(inputs, given)
    if not as_list:
        assert len(predicted) == 1 and predicted[0].task is samples.task
        predicted = list(predicted[0])
    for sample, score in zip(predicted, scores, strict=True):
        torch.testing.assert_close(sample.pred_score, score)
        assert sample.pred_label == score.argmax()
        assert ((sample.pred_score == 0) == (score == 0)).all()


def test_the_newest_head_is_active():
    inputs, samples = batch()
    model = build()
    assert (model.heads, model.active) == ([(0, 3), (3, 2)], (3, 2))
    logits = all_logits(model, inputs)
    torch.testing.assert_close(model(inputs), logits[:, 3:])
    assert model.active_labels(batch((3, 4), (1, 1))[1]).tolist() == [0, 1]
    model = build(per_task=False)
    assert model.heads == [(0, 5)] and model.active == (0, 5)
    torch.testing.assert_close(model(inputs), all_logits(model, inputs))
    assert model.active_labels(samples).tolist() == [0, 4, 3, 2]


def test_frozen_heads_stay_and_others_learn():
    model = build((3, 2, 2))
    before = copy.deepcopy(model.state_dict())
    optimiser = OptimWrapper(torch.optim.SGD(
        model.parameters(), lr=0.5, momentum=0.9, weight_decay=0.1))
    inputs, samples = batch((5, 6, 6, 5), (2, 2, 2, 2))
    data = dict(inputs=inputs, data_samples=samples)
    values = [model.train_step(data, optimiser)['loss'] for _ in range(20)]
    assert values[-1] < values[0] / 2
    model.loss(inputs, samples)['loss_ce'].backward()
    for name, param in model.named_parameters():
        frozen = 'linears.0' in name or 'linears.1' in name
        assert frozen == (param.grad is None) != param.requires_grad
        assert frozen == torch.equal(param, before[name])
    free = build((3, 2, 2), freeze_old_heads=False)
    assert all(p.requires_grad for p in free.parameters())
    shared = build((3, 2, 2), per_task=False)
    assert all(p.requires_grad for p in shared.parameters())


def test_fisher_looks_at_the_active_head():
    model = build().eval()
    inputs, samples = batch((3, 4, 4), (1, 1, 1))
    labels = model.active_labels(samples)
    fisher = fisher_diagonal(model, [(inputs, labels)], labels='empirical')
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    expected = {n: torch.zeros_like(p) for n, p in trained.items()}
    for i, label in enumerate(labels):
        log_p = all_logits(model, inputs[i:i + 1])[0, 3:].log_softmax(0)
        gradients = torch.autograd.grad(log_p[label], trained.values())
        for name, gradient in zip(trained, gradients, strict=True):
            expected[name] += gradient**2 / 3
    assert not any('linears.0' in name for name in fisher)
    torch.testing.assert_close(fisher, expected)


def test_a_copy_of_oneself_has_nothing_to_teach():
    model = build((3, 2, 2), kd=True)
    keys = set(model.state_dict())
    assert model.needs_teacher and not build().needs_teacher
    teacher = build((3, 2))
    teacher.load_state_dict(model.state_dict(), strict=False)
    model.set_teacher(teacher)
    assert set(model.state_dict()) == keys
    inputs, samples = batch((5, 6), (2, 2))
    losses = model.train().loss(inputs, samples)
    assert not teacher.training
    losses['loss_kd'].backward()
    largest = max(p.grad.abs().max() for p in model.backbone.parameters())
    assert largest < 1e-6
    logits, entropy = all_logits(model, inputs) / 2, 0
    for head in logits[:, :3], logits[:, 3:5]:
        p = head.softmax(1)
        entropy = entropy - (p * p.log()).sum() / 2
    torch.testing.assert_close(losses['loss_kd'], entropy)


def test_the_shared_head_distils_once_times_the_tasks():
    kd = dict(KD, scale_by_tasks=True)
    model = build((3, 0, 0), per_task=False, losses=dict(kd=kd))
    model.set_teacher(build((3, 0), per_task=False))
    inputs, samples = batch((0, 1), (2, 2))
    value = model.loss(inputs, samples)['loss_kd']
    old = (all_logits(model.teacher, inputs) / 2).softmax(1)
    new = (all_logits(model, inputs) / 2).log_softmax(1)
    torch.testing.assert_close(value, -2 * (old * new).sum() / 2)


def test_one_teacher_pass_for_two_losses():
    model = build(losses=dict(one=KD, two=KD))
    model.set_teacher(build((3, )))
    calls = []
    model.teacher.backbone.register_forward_hook(
        lambda *_: calls.append(1))
    model.loss(*batch())
    assert len(calls) == 1


class AsksTooMuch(torch.nn.Module):

    def forward(self, logits, pixel_weight):
        return logits.sum()


def test_losses_that_cannot_be_served():
    with pytest.raises(RuntimeError, match='previous model'):
        build(kd=True).loss(*batch())
    model = build()
    model.losses['moon'] = AsksTooMuch()
    with pytest.raises(TypeError, match="'pixel_weight', which a Continual"
                       '.*features.*logits.*mask.*num_old_tasks'):
        model.loss(*batch())


def test_what_has_a_default_need_not_be_served():
    """Pixels can be weighted in a distillation, images cannot."""
    model = build(losses=dict(
        kd=dict(type='mmseg_spwc.DistillationLoss')))
    assert model.arguments_of(model.losses['kd']) == ('logits', 'old_logits')


def test_tasks_must_be_known():
    model, (inputs, samples) = build(), batch()
    with pytest.raises(ValueError, match='2 heads.*task of every image'):
        model.predict(inputs)
    with pytest.raises(ValueError, match='field `task`'):
        model.loss(inputs, [DataSample().set_gt_label(0) for _ in inputs])
    for task in (2, -1):
        samples.task[1] = task
        for given in (samples, list(samples)):
            for call in model.loss, model.predict:
                with pytest.raises(ValueError, match=rf'task {task}.*\[0, 1'):
                    call(inputs, given)


def test_one_head_needs_no_tasks():
    model, (inputs, _) = build((3, )), batch()
    scores = torch.stack([s.pred_score for s in model.predict(inputs)])
    torch.testing.assert_close(
        scores, all_logits(model, inputs).softmax(1))


def test_wrong_configs():
    with pytest.raises(ValueError, match='per_task=False'):
        build((3, 0))
    with pytest.raises(ValueError, match='without a head'):
        build(head=None)
    augments = dict(augments=dict(type='Mixup', alpha=1.))
    with pytest.raises(ValueError, match='Mixed images'):
        build(train_cfg=augments, data_preprocessor=dict(num_classes=5))
    with pytest.raises(ValueError, match="'balanced' is for classes that"):
        build().initialise_new('balanced')
