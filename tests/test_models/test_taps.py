"""Stage outputs before the activation, against their closed form."""
import mmseg_spwc  # noqa: F401, I001  (before mmseg)

import pytest
import torch
from mmseg.models.backbones import MobileNetV2, ResNetV1c
from torch import nn

from mmseg_spwc.models.backbones import LeakyResNet
from mmseg_spwc.models.taps import tap_stages

SLOPE = 0.1


def small_resnet(depth=18, **kwargs) -> LeakyResNet:
    torch.manual_seed(0)
    return LeakyResNet(
        depth, act_slope=SLOPE, stem_channels=8, base_channels=8, **kwargs)


def images(requires_grad=False) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(2, 3, 64, 64, requires_grad=requires_grad)


def inverse_leaky(y: torch.Tensor) -> torch.Tensor:
    return torch.where(y >= 0, y, y / SLOPE)


@pytest.mark.parametrize('depth', [18, 50])
def test_pre_activation_maps_invert_the_outputs(depth):
    backbone = small_resnet(depth)
    with tap_stages(backbone) as maps:
        outs = backbone(images())
    assert len(maps) == len(outs) == 4
    for pre, post in zip(maps, outs, strict=True):
        assert pre.min() < 0
        torch.testing.assert_close(pre, inverse_leaky(post))


def test_only_the_stages_in_out_indices_are_read():
    backbone = small_resnet(out_indices=(1, 3))
    with tap_stages(backbone) as maps:
        outs = backbone(images())
    assert [f.shape for f in maps] == [o.shape for o in outs]


def test_relu_networks_keep_what_the_activation_cuts_off():
    backbone = ResNetV1c(depth=18, stem_channels=8, base_channels=8)
    backbone.eval()
    block = backbone.layer4[-1]
    seen = []
    block.register_forward_hook(lambda m, i, o: seen.append(i[0].clone()))
    with torch.no_grad(), tap_stages(backbone) as maps:
        outs = backbone(images())
        x = seen[0]
        hidden = block.norm1(block.conv1(x)).clamp(min=0)
        expected = block.norm2(block.conv2(hidden)) + x
    torch.testing.assert_close(maps[-1], expected)
    assert maps[-1].min() < 0
    assert torch.equal(maps[-1].clamp(min=0), outs[-1])


def test_taps_change_neither_outputs_nor_gradients():
    backbone = small_resnet()
    plain, tapped = images(True), images(True)
    backbone(plain)[-1].square().sum().backward()
    with tap_stages(backbone):
        backbone(tapped)[-1].square().sum().backward()
    assert torch.equal(plain.grad, tapped.grad)


def test_gradients_flow_through_the_taps():
    backbone = small_resnet(num_stages=1, strides=(1, ), dilations=(1, ),
                            out_indices=(0, )).double()
    by_tap = images().double().requires_grad_()
    by_inverse = images().double().requires_grad_()
    with tap_stages(backbone) as maps:
        backbone(by_tap)
    maps[0].pow(3).sum().backward()
    inverse_leaky(backbone(by_inverse)[0]).pow(3).sum().backward()
    torch.testing.assert_close(by_tap.grad, by_inverse.grad)


def test_recomputed_blocks_do_not_replace_the_taps():
    backbone = small_resnet(with_cp=True)
    with tap_stages(backbone) as maps:
        outs = backbone(images(True))
        outs[-1].sum().backward()
    for pre, post in zip(maps, outs, strict=True):
        torch.testing.assert_close(pre, inverse_leaky(post))


@pytest.mark.parametrize('backbone, pre_activation', [
    (small_resnet(), False),
    (MobileNetV2(widen_factor=0.25), True),
    (MobileNetV2(widen_factor=0.25, out_indices=(6, )), True),
])
def test_other_cases_read_the_ordinary_outputs(backbone, pre_activation):
    with tap_stages(backbone, pre_activation) as maps:
        outs = backbone(images())
    outs = (outs, ) if isinstance(outs, torch.Tensor) else outs
    for feature, out in zip(maps, outs, strict=True):
        assert feature is out


def test_hooks_are_gone_afterwards_even_after_an_error():
    backbone = small_resnet()
    with pytest.raises(RuntimeError), tap_stages(backbone):
        backbone(torch.zeros(2, 5, 64, 64))  # five channels
    assert count_hooks(backbone) == 0


def count_hooks(model: nn.Module) -> int:
    return sum(
        len(m._forward_hooks) + len(m._forward_pre_hooks)
        for m in model.modules())
