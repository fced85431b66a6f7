import pytest
import torch
from mmcv.cnn import ConvModule
from mmseg.models.backbones import ResNet
from torch import nn

from mmseg_spwc.models.css_head import DeepLabV3CSSHead
from mmseg_spwc.models.rc import add_branches, matched_groups
from mmseg_spwc.models.rc_layers import FusedNorm


def test_pairs_by_name():
    net = ResNet(18, stem_channels=4, base_channels=4)
    assert matched_groups(net, r'layer1\.0') == [
        (['layer1.0.conv1'], 'layer1.0.bn1'),
        (['layer1.0.conv2'], 'layer1.0.bn2')
    ]
    assert matched_groups(net, 'downsample')[0] == ([
        'layer2.0.downsample.0'
    ], 'layer2.0.downsample.1')
    block = ConvModule(3, 4, 1, norm_cfg=dict(type='BN'))
    assert matched_groups(block, None) == [(['conv'], 'bn')]


def test_declared_groups():
    head = DeepLabV3CSSHead(8, 4, num_classes=3)
    convs = [f'decode.aspp_convs.{i}' for i in range(4)]
    net = nn.ModuleDict(dict(decode=head))
    assert matched_groups(net, 'aspp_convs') == [(convs, 'decode.aspp_norm')]


@pytest.mark.parametrize(
    'layers, message',
    [([nn.Conv2d(3, 4, 1), nn.ReLU()], 'found no batch norm'),
     ([nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4, affine=False)], 'affine'),
     ([nn.Conv2d(3, 4, 1), nn.BatchNorm2d(8)], '8 channels')])
def test_wrong_networks(layers, message):
    with pytest.raises(ValueError, match=message):
        add_branches(nn.Sequential(*layers), '0')


def test_published_parameter_counts():
    """58.04 M plain, 94.08 M doubled, 36.04 M of them frozen."""
    with torch.device('meta'):
        net = nn.ModuleDict(
            dict(
                backbone=ResNet(101, strides=(1, 2, 2, 1)),
                head=DeepLabV3CSSHead(num_classes=21)))
        # the literature's classifier
        net.head.conv_seg = nn.Conv2d(256, 21, 1)

    def millions(parameters):
        return round(sum(p.numel() for p in parameters) / 1e6, 2)

    assert millions(net.parameters()) == 58.04
    add_branches(net, r'layer\d\.\d+\.conv2$|aspp_convs')
    assert millions(net.parameters()) == 94.08
    assert millions(
        p for p in net.parameters() if not p.requires_grad) == 36.04
    assert sum(isinstance(m, FusedNorm) for m in net.modules()) == 34
