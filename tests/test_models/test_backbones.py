"""LeakyResNet against torchvision's ResNet with its ReLUs exchanged."""
import mmseg_spwc  # noqa: F401, I001  (before mmseg and torchvision)

import pytest
import torch
import torchvision
from torch import nn

from mmseg_spwc.models.backbones import LeakyResNet
from mmseg_spwc.registry import MODELS


def leaky_torchvision(name: str, slope: float, stem_act: bool) -> nn.Module:
    model = getattr(torchvision.models, name)()
    for module in list(model.modules()):
        for child_name, child in module.named_children():
            if isinstance(child, nn.ReLU):
                setattr(module, child_name, nn.LeakyReLU(slope))
    if not stem_act:
        model.relu = nn.Identity()
    return model


def stage_outputs(model: nn.Module, x: torch.Tensor) -> list:
    x = model.maxpool(model.relu(model.bn1(model.conv1(x))))
    outs = []
    for stage in (model.layer1, model.layer2, model.layer3, model.layer4):
        x = stage(x)
        outs.append(x)
    return outs


def matched_pair(depth, slope=0.01, stem_act=True, **kwargs):
    theirs = leaky_torchvision(f'resnet{depth}', slope, stem_act)
    ours = LeakyResNet(depth, act_slope=slope, stem_act=stem_act, **kwargs)
    loaded = theirs.load_state_dict(ours.state_dict(), strict=False)
    assert loaded.missing_keys == ['fc.weight', 'fc.bias']
    assert not loaded.unexpected_keys
    return ours, theirs


def test_resnet101_has_exactly_torchvisions_parameters():
    with torch.device('meta'):
        ours = LeakyResNet(101)
        theirs = torchvision.models.resnet101()
    theirs.fc = nn.Identity()
    sizes = {k: v.shape for k, v in theirs.named_parameters()}
    assert {k: v.shape for k, v in ours.named_parameters()} == sizes
    assert sum(p.numel() for p in ours.parameters()) == 42_500_160


@pytest.mark.parametrize('slope, stem_act', [(0.01, True), (0.01, False),
                                             (0.2, True), (0.0, True)])
def test_outputs_and_gradients_equal_torchvisions(slope, stem_act):
    torch.manual_seed(0)
    ours, theirs = matched_pair(18, slope, stem_act)
    x = torch.randn(2, 3, 64, 64)
    outs, expected = ours(x), stage_outputs(theirs, x)
    for out, other in zip(outs, expected, strict=True):
        torch.testing.assert_close(out, other)
    sum(out.square().mean() for out in outs).backward()
    sum(out.square().mean() for out in expected).backward()
    other_grads = {k: p.grad for k, p in theirs.named_parameters()}
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(
            parameter.grad, other_grads[name], rtol=1e-3, atol=1e-4)


def test_output_stride_16_dilates_every_block_of_the_last_stage():
    torch.manual_seed(0)
    ours, theirs = matched_pair(
        50, strides=(1, 2, 2, 1), dilations=(1, 1, 1, 2))
    for block in theirs.layer4:
        block.conv2.dilation = block.conv2.padding = (2, 2)
        block.conv2.stride = (1, 1)
    theirs.layer4[0].downsample[0].stride = (1, 1)
    x = torch.randn(1, 3, 64, 64)
    ours.eval()
    theirs.eval()
    with torch.no_grad():
        outs, expected = ours(x), stage_outputs(theirs, x)
    assert [tuple(out.shape[1:]) for out in outs] == [
        (256, 16, 16), (512, 8, 8), (1024, 4, 4), (2048, 4, 4)]
    for out, other in zip(outs, expected, strict=True):
        torch.testing.assert_close(out, other)


def test_later_stages_do_not_overwrite_earlier_outputs():
    model = LeakyResNet(18, base_channels=8, stem_channels=8)
    copies = []
    for name in model.res_layers:
        getattr(model, name).register_forward_hook(
            lambda module, inputs, output: copies.append(output.clone()))
    outs = model(torch.randn(2, 3, 64, 64))
    for out, copy in zip(outs, copies, strict=True):
        assert torch.equal(out, copy)


def test_no_activation_but_leaky_ones_is_left():
    model = LeakyResNet(50, act_slope=0.03)
    assert not any(isinstance(m, nn.ReLU) for m in model.modules())
    slopes = [m.negative_slope for m in model.modules()
              if isinstance(m, nn.LeakyReLU)]
    assert slopes == [0.03] * (1 + 3 + 4 + 6 + 3)


def test_is_registered_and_takes_a_norm():
    model = MODELS.build({
        'type': 'mmseg_spwc.LeakyResNet',
        'depth': 18,
        'norm_cfg': {'type': 'SyncBN'}
    })
    norms = [m for m in model.modules()
             if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    assert norms
    assert all(isinstance(m, nn.SyncBatchNorm) for m in norms)


@pytest.mark.parametrize('kwargs, word', [({'act_slope': -0.1}, 'act_slope'),
                                          ({'deep_stem': True}, '7x7')])
def test_bad_arguments_are_explained(kwargs, word):
    with pytest.raises(ValueError, match=word):
        LeakyResNet(18, **kwargs)
