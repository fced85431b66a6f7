"""Converted weights must compute what the foreign network computed."""
import mmseg_spwc  # noqa: F401, I001  (before mmseg and torchvision)

import os
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
import torchvision
from mmseg.models.backbones import MobileNetV2, ResNet
from torch import nn

from mmseg_spwc.models.backbones import LeakyResNet
from mmseg_spwc.models.foreign_weights import (convert_state_dict,
                                               load_backbone_weights)

STAGE_ENDS = (1, 3, 6, 10, 13, 16, 17)  # last torchvision block of a stage
WEIGHTS = 'weights/mobilenet_v2_imagenet_features_torchvision.pth'


def random_norms(model: nn.Module) -> None:
    """Make statistics and scales differ, so that a mix-up shows."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(std=0.1)
            module.running_var.uniform_(0.5, 2)
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, std=0.1)


def assert_same_stages(backbone, expected, x, tolerance=1e-4):
    backbone.eval()
    with torch.no_grad():
        outs = backbone(x)
    for out, other in zip(outs, expected, strict=True):
        torch.testing.assert_close(
            out, other, rtol=tolerance, atol=tolerance)


@torch.no_grad()
def mobilenet_stages(model, x):
    outs = []
    for index, block in enumerate(model.features[:18]):
        x = block(x)
        if index in STAGE_ENDS:
            outs.append(x)
    return outs


@torch.no_grad()
def resnet_stages(model, x):
    x = model.maxpool(model.relu(model.bn1(model.conv1(x))))
    outs = []
    for stage in (model.layer1, model.layer2, model.layer3, model.layer4):
        x = stage(x)
        outs.append(x)
    return outs


def test_torchvision_mobilenet_v2():
    torch.manual_seed(0)
    theirs = torchvision.models.mobilenet_v2(weights=None)
    random_norms(theirs)
    theirs.eval()
    x = torch.randn(2, 3, 64, 64)
    ours = MobileNetV2(out_indices=range(7))
    load_backbone_weights(ours, theirs.state_dict())
    assert_same_stages(ours, mobilenet_stages(theirs, x), x)


@pytest.mark.parametrize('name, depth', [('resnet18', 18), ('resnet50', 50)])
def test_torchvision_resnet(name, depth):
    torch.manual_seed(0)
    theirs = getattr(torchvision.models, name)(weights=None)
    random_norms(theirs)
    theirs.eval()
    x = torch.randn(1, 3, 64, 64)
    ours = ResNet(depth)
    load_backbone_weights(ours, theirs.state_dict())
    assert_same_stages(ours, resnet_stages(theirs, x), x, tolerance=1e-3)


class AbnResNet:
    """An in-place ABN ResNet, written out on the tensors it is stored as.

    Args:
        kernels: Kernel sizes of a block's convolutions.
        blocks: Blocks in each stage.
        width: Channels of the first stage.
        expansion: Output channels of a block over its inner channels.
    """

    def __init__(self, kernels, blocks, width, expansion):
        self.kernels, self.blocks = kernels, blocks
        self.state = {}
        self.add('mod1.', 'conv1', 'bn1', 3, width, 7)
        channels = width
        for s, count in enumerate(blocks):
            inner = width * 2**s
            for b in range(count):
                prefix = f'mod{s + 2}.block{b + 1}.'
                sizes = [channels] + [inner] * (len(kernels) - 1)
                sizes.append(inner * expansion)
                for k, kernel in enumerate(kernels):
                    self.add(f'{prefix}convs.', f'conv{k + 1}', f'bn{k + 1}',
                             sizes[k], sizes[k + 1], kernel)
                if b == 0 and (s > 0 or channels != sizes[-1]):
                    self.add(prefix, 'proj_conv', 'proj_bn', channels,
                             sizes[-1], 1)
                channels = sizes[-1]
        self.state['classifier.fc.weight'] = torch.randn(10, channels)
        self.state['classifier.fc.bias'] = torch.randn(10)
        self.state = {k: v.double() for k, v in self.state.items()}

    def add(self, prefix, conv, bn, fan_in, fan_out, kernel):
        weight = torch.randn(fan_out, fan_in, kernel, kernel)
        scale = (fan_in * kernel**2)**-0.5
        self.state[f'{prefix}{conv}.weight'] = weight * scale
        self.state[f'{prefix}{bn}.weight'] = torch.randn(fan_out)
        self.state[f'{prefix}{bn}.bias'] = torch.randn(fan_out)
        self.state[f'{prefix}{bn}.running_mean'] = torch.randn(fan_out)
        self.state[f'{prefix}{bn}.running_var'] = torch.rand(fan_out) + 0.5

    def abn(self, x, name, slope):
        mean, var, gamma, beta = (
            self.state[f'{name}.{part}'][:, None, None]
            for part in ('running_mean', 'running_var', 'weight', 'bias'))
        y = (x - mean) / (var + 1e-5).sqrt() * (gamma.abs() + 1e-5) + beta
        return torch.where(y > 0, y, slope * y)

    def block(self, x, prefix, stride):
        out, last = x, len(self.kernels)
        strided = 2 if last == 3 else 1  # the first 3x3 convolution
        for k, kernel in enumerate(self.kernels, start=1):
            out = F.conv2d(
                out, self.state[f'{prefix}convs.conv{k}.weight'],
                stride=stride if k == strided else 1, padding=kernel // 2)
            slope = 1.0 if k == last else 0.01
            out = self.abn(out, f'{prefix}convs.bn{k}', slope)
        if f'{prefix}proj_conv.weight' in self.state:
            x = F.conv2d(
                x, self.state[f'{prefix}proj_conv.weight'], stride=stride)
            x = self.abn(x, f'{prefix}proj_bn', 1.0)
        return F.leaky_relu(out + x, 0.01)

    def stages(self, x):
        x = F.conv2d(x, self.state['mod1.conv1.weight'], stride=2, padding=3)
        x = F.max_pool2d(self.abn(x, 'mod1.bn1', 0.01), 3, 2, 1)
        outs = []
        for s, count in enumerate(self.blocks):
            for b in range(count):
                stride = 2 if b == 0 and s > 0 else 1
                x = self.block(x, f'mod{s + 2}.block{b + 1}.', stride)
            outs.append(x)
        return outs


@pytest.mark.parametrize('depth, kernels, blocks, expansion', [
    (18, (3, 3), (2, 2, 2, 2), 1),
    (50, (1, 3, 1), (3, 4), 4),
])
def test_inplace_abn_resnet(depth, kernels, blocks, expansion):
    torch.manual_seed(0)
    theirs = AbnResNet(kernels, blocks, 8, expansion)
    stages = len(blocks)
    ours = LeakyResNet(
        depth, stem_channels=8, base_channels=8, num_stages=stages,
        strides=(1, 2, 2, 2)[:stages], dilations=(1, ) * stages,
        out_indices=range(stages))
    wrapped = {f'module.{k}': v for k, v in theirs.state.items()}
    load_backbone_weights(ours.double(), {'state_dict': wrapped, 'epoch': 9})
    x = torch.randn(1, 3, 64, 64, dtype=torch.float64)
    # tight enough to see the eps that is added to gamma
    assert_same_stages(ours, theirs.stages(x), x, tolerance=1e-8)


@pytest.mark.parametrize('prefix', ['', 'module.', 'backbone.',
                                    'module.backbone.'])
def test_mmseg_names_pass_through_every_wrapper(prefix):
    source, target = (
        ResNet(18, stem_channels=8, base_channels=8) for _ in range(2))
    state = {prefix + k: v for k, v in source.state_dict().items()}
    if 'backbone' in prefix:
        state['decode_head.conv_seg.weight'] = torch.zeros(1)
    load_backbone_weights(target, {'state_dict': state, 'meta': {}})
    for key, value in source.state_dict().items():
        assert torch.equal(target.state_dict()[key], value)


def test_what_does_not_fit_is_named_and_nothing_is_loaded():
    backbone = ResNet(18, stem_channels=8, base_channels=8)
    state = {k: v.clone() + 1 for k, v in backbone.state_dict().items()}
    before = backbone.conv1.weight.clone()
    del state['bn1.running_mean']
    state['layer9.weight'] = torch.zeros(1)
    state['layer1.0.conv1.weight'] = torch.zeros(8, 8, 1, 1)
    with pytest.raises(ValueError) as error:
        load_backbone_weights(backbone, state, source='a/file.pth')
    message = str(error.value)
    assert 'a/file.pth' in message
    assert '1 missing: bn1.running_mean' in message
    assert '1 unexpected: layer9.weight' in message
    assert '1 mis-shaped: layer1.0.conv1.weight (8, 8, 1, 1)' in message
    assert 'Mapillary' in message
    assert torch.equal(backbone.conv1.weight, before)


def test_long_lists_of_keys_are_cut():
    backbone = ResNet(18, stem_channels=8, base_channels=8)
    with pytest.raises(ValueError, match='100 missing: .*, ...'):
        load_backbone_weights(backbone, {})


def test_counters_may_be_absent():
    backbone = ResNet(18, stem_channels=8, base_channels=8)
    state = {k: v for k, v in backbone.state_dict().items()
             if not k.endswith('num_batches_tracked')}
    load_backbone_weights(backbone, state)


def test_weights_of_another_architecture_are_explained():
    state = {'features.0.0.weight': torch.zeros(1)}
    with pytest.raises(ValueError, match='MobileNetV2.*does not fit.*ResNet'):
        convert_state_dict(state, ResNet(18))
    with pytest.raises(TypeError, match='state dict'):
        convert_state_dict([1, 2], ResNet(18))


@pytest.mark.slow
def test_real_imagenet_mobilenet_v2():
    root = os.environ.get('MMSEG_SPWC_DATA')
    if root is None or not (Path(root) / WEIGHTS).is_file():
        pytest.skip(f'needs {WEIGHTS} under $MMSEG_SPWC_DATA')
    state = torch.load(Path(root) / WEIGHTS, weights_only=True)
    theirs = torchvision.models.mobilenet_v2(weights=None)
    loaded = theirs.load_state_dict(state, strict=False)
    assert not loaded.unexpected_keys
    theirs.eval()
    torch.manual_seed(0)
    x = torch.randn(2, 3, 128, 128)
    ours = MobileNetV2(
        strides=(1, 2, 2, 2, 1, 2, 1), out_indices=range(7))
    load_backbone_weights(ours, state)
    assert_same_stages(ours, mobilenet_stages(theirs, x), x)
