"""Rows allocated ahead, and a network of which little trains (DFT*)."""
import math
import sys
from pathlib import Path

import pytest
import torch
from mmengine.config import Config, ConfigDict

from mmseg_spwc.apis.publish import publish
from mmseg_spwc.engine import ContinualRunner, step_config
from mmseg_spwc.errors import CheckpointError, ConfigError
from mmseg_spwc.evaluation.iou import count_areas
from mmseg_spwc.models.losses import PixelCrossEntropyLoss
from mmseg_spwc.record import Record
from mmseg_spwc.registry import MODELS
from mmseg_spwc.runtime.checkpoint import load_step
from mmseg_spwc.scenario import build_scenario

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / 'tests/test_models/test_segmentors'))
from segmentor_parts import batch, build  # noqa: E402


@pytest.fixture(scope='module')
def with_method(config_in, tmp_path_factory):

    def make(name='dft', **options):
        cfg = config_in(tmp_path_factory.mktemp(name), **{
            'train_cfg.max_epochs': 1,
            'schedule.later.train_cfg.max_epochs': 1})
        cfg.method = Config.fromfile(
            ROOT / f'configs/_base_/methods/{name}.py').method
        cfg.merge_from_dict(options)
        return cfg

    return make


@pytest.fixture(scope='module')
def run(with_method):
    """A finished run of DFT* in three steps."""
    cfg = with_method()
    ContinualRunner(cfg).train()
    return cfg


def final(cfg, step):
    return load_step(f'{cfg.work_dir}/step_{step:02d}/final.pth')[
        'state_dict']


def test_only_the_rows_of_a_step_and_of_later_ones_move(run):
    for step in (1, 2):
        before, after = final(run, step - 1), final(run, step)
        assert before.keys() == after.keys()
        moved = {key for key in after
                 if not torch.equal(before[key], after[key])}
        assert moved == {
            f'decode_head.conv_seg.convs.{row}.{part}'
            for row in range(step, 3) for part in ('weight', 'bias')}


def test_few_weights_train(run):
    leaf = 'configs/dft/dft_deeplabv3-r101-d16_voc12aug-512x512.py'
    cfg = Config.fromfile(ROOT / leaf)
    cfg.work_dir = 'work'
    scenario = build_scenario(cfg.scenario.to_dict())
    for step, rows in (1, 5), (5, 1):
        with torch.device('meta'):
            model = MODELS.build(step_config(cfg, scenario, step).model)
        assert sum(p.numel() for p in model.parameters()
                   if p.requires_grad) == 257 * rows
        assert model.decode_head.conv_seg.out_channels == 21


def test_later_rows_take_part_in_the_softmax():
    logits = torch.tensor([1., 0., 2., 0.]).view(1, 4, 1, 1)
    loss = PixelCrossEntropyLoss()(logits, torch.tensor([[[2]]]))
    assert loss.item() == pytest.approx(
        math.log(math.e + 1 + math.e**2 + 1) - 2)
    assert loss.item() == pytest.approx(0.4938, abs=5e-5)


def test_an_iteration_costs_a_forward_pass(run):
    model = build(run, 1).train()
    inputs, samples = batch()
    seen = model.tapped_forward(inputs).features
    assert not seen.decoder.requires_grad and seen.logits.shape[1] == 11
    assert model.teacher is None and not model.needs_teacher
    assert not any(m.training for m in model.backbone.modules())
    old = {k: v.clone() for k, v in model.state_dict().items()}
    model.loss(inputs, samples)['loss_pixel'].backward()
    assert all(torch.equal(v, old[k]) for k, v in model.state_dict().items())


def test_rows_of_later_steps_win_or_do_not_count(run):
    inputs, _ = batch()
    samples = {}
    for argmax in ('all', 'seen'):
        run.method.every.model.argmax = argmax
        model = build(run, 1).eval()
        model.load_state_dict(final(run, 1))
        model.decode_head.conv_seg.convs[2].bias.data += 2.
        samples[argmax] = model.predict(inputs)[0].pred_sem_seg.data
        logits = model(inputs, mode='tensor')
    del run.method.every.model.argmax
    winner = model.upsample(logits, inputs.shape[2:]).argmax(1)[:1]
    later = winner > 7
    assert 0 < later.sum() < later.numel()
    assert (samples['all'][later] == 255).all()
    assert torch.equal(samples['all'][~later], winner[~later])
    assert samples['seen'].max() <= 7


def test_windows_may_slide_over_an_image(run):
    model = build(run, 1).eval()
    inputs, _ = batch()
    whole = model.predict(inputs)[0].seg_logits.data
    model.test_cfg = ConfigDict(
        mode='slide', crop_size=(48, 48), stride=(48, 48))
    assert torch.equal(model.predict(inputs)[0].seg_logits.data, whole)


def test_what_is_no_channel_counts_for_no_class():
    hits, present, predicted = count_areas(
        torch.tensor([0, 1, 255, 255]), torch.tensor([0, 1, 1, 255]), 2, 255)
    assert hits.tolist() == [1, 1] and present.tolist() == [1, 2]
    assert predicted.tolist() == [1, 1]


def test_a_published_network_has_the_seen_rows_alone(run, tmp_path):
    weights, _ = publish(run.work_dir, tmp_path / 'm.pth', 1)
    content = torch.load(weights, weights_only=True)
    bias = content['state_dict']['decode_head.conv_seg.bias']
    assert len(bias) == len(content['meta']['dataset_meta']['classes']) == 8


def test_a_first_step_is_shared(with_method, run):
    cfg = with_method(start_from=f'{run.work_dir}/step_00/final.pth')
    ContinualRunner(cfg).train()
    a, b = final(cfg, 2), final(run, 2)
    assert all(torch.equal(a[key], b[key]) for key in a)
    assert [s['iou'] for s in Record.read(cfg.work_dir).steps] == [
        s['iou'] for s in Record.read(run.work_dir).steps]


def test_a_first_step_without_the_rows_is_refused(with_method, run):
    cfg = with_method('finetune')
    cfg.start_from = f'{run.work_dir}/step_00/final.pth'
    with pytest.raises(CheckpointError, match=r'convs\.1'):
        ContinualRunner(cfg).train()


def test_any_method_may_allocate_and_freeze(with_method):
    """The teacher has the classes that its step had seen, and no more."""
    # thresholds of pseudo labels are read from its classes alone
    cfg = with_method('plop', **{
        'method.every.model.allocate': 'all',
        'method.later.model.train_only': r'decode_head|layer4'})
    ContinualRunner(cfg).train()
    moved = {key.split('.')[0] + '.' + key.split('.')[1]
             for key in final(cfg, 2)
             if not torch.equal(final(cfg, 1)[key], final(cfg, 2)[key])}
    assert 'backbone.layer4' in moved
    assert {m for m in moved if m.startswith('backbone')} == {
        'backbone.layer4'}


@pytest.mark.parametrize('method, options, says', [
    ('lwf', {'method.later.model.train_only': 'new_rows'},
     "loss 'kd' cannot train"),
    ('mib', {'method.later.model.losses.maps': dict(
        type='mmseg_spwc.FeatureMSELoss'),
        'method.later.model.train_only': 'new_rows'},
     "loss 'maps' cannot train"),
    ('finetune', {'method.later.model.train_only': 'nothing'},
     'model.train_only leaves nothing to train'),
    ('finetune', {'method.later.model.train_only': '('},
     'give a regular expression'),
    ('finetune', {'method.every.model.allocate': 3}, 'allocate is 3'),
    ('finetune', {'method.every.model.argmax': 'new'}, "argmax is 'all' or"),
])
def test_what_cannot_train_is_said_before_training(with_method, method,
                                                   options, says):
    cfg = with_method(method, **options)
    with pytest.raises(ConfigError, match=says):
        ContinualRunner(cfg).train()
    assert not Path(cfg.work_dir, 'step_00').exists()


@pytest.mark.parametrize('method', ['mib', 'plop', 'rcil'])
def test_losses_that_see_new_logits_train_them(with_method, method):
    cfg = with_method(method, **{'method.later.model.train_only': 'new_rows'})
    build(cfg, 1).try_losses()
