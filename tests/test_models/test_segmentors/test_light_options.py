"""Options that make a step cheaper keep what it computes."""
import pytest
import torch
from segmentor_parts import batch, build


def gradients(model):
    """Losses and gradients of one batch, with fixed draws."""
    torch.manual_seed(0)
    inputs, samples = batch()
    losses = model.train().loss(inputs.to(next(model.parameters())), samples)
    sum(v for k, v in losses.items() if 'loss' in k).backward()
    grads = {n: p.grad for n, p in model.named_parameters()
             if p.grad is not None}
    return losses, grads


def distilling(cfg, **options):
    """A student with branches and all of RCIL's losses, and its teacher."""
    cfg.model.rc = dict(match=r'(\.conv2|aspp_convs\.\d)$')
    cfg.model.update(options)
    torch.manual_seed(3)
    student = build(
        cfg, 1, kd=dict(type='mmseg_spwc.UnbiasedDistillationLoss'),
        cube=dict(type='mmseg_spwc.PooledCubeLoss'))
    cfg.model.rc = None
    student.set_teacher(build(cfg, 0))
    return student


def test_channels_last_changes_rounding_alone(tiny_config):
    plain, last = (distilling(tiny_config(), channels_last=c).double()
                   for c in (False, True))
    kernel = last.backbone.layer1[0].conv2.new.weight
    assert kernel.is_contiguous(memory_format=torch.channels_last)
    maps = last.tapped_forward(torch.randn(2, 3, 48, 48).double()).features
    assert all(m.is_contiguous(memory_format=torch.channels_last)
               for m in maps)
    torch.testing.assert_close(gradients(last), gradients(plain))


def test_a_teacher_in_half_precision_is_good_to_two_digits(tiny_config):
    exact, light = (distilling(tiny_config(), teacher_dtype=kind)
                    for kind in (None, 'bfloat16'))
    assert next(light.teacher.parameters()).dtype == torch.bfloat16
    assert next(light.parameters()).dtype == torch.float32
    inputs = torch.randn(2, 3, 48, 48)
    old, seen = (model.teacher.eval().tapped_forward(inputs)
                 for model in (exact, light))
    for one, other in zip(old.features, seen.features, strict=True):
        assert other.dtype == torch.float32
        assert (one - other).norm() < 0.02 * one.norm()
    (a, _), (b, grads) = gradients(exact), gradients(light)
    for name in ('loss_kd', 'loss_skd', 'loss_ckd'):
        assert b[name].item() == pytest.approx(a[name].item(), rel=0.02)
    assert all(g.isfinite().all() for g in grads.values())


@pytest.mark.parametrize('kind', ['int8', 'bf16', 'nn'])
def test_a_teacher_needs_a_floating_type(tiny_config, kind):
    cfg = tiny_config()
    cfg.model.teacher_dtype = kind
    with pytest.raises(ValueError, match="'bfloat16'"):
        build(cfg, 1)
