"""Backbones of the classification experiments: sizes, layers, weights."""
import mmseg_spwc  # noqa: F401, I001  (before mmpretrain)

import pytest
import torch
from mmengine.registry import init_default_scope
from torch import nn

import mmseg_spwc.classification  # noqa: F401
from mmseg_spwc.models.backbones import MLPBackbone, SmallVGG
from mmseg_spwc.registry import MODELS


def classifier(backbone, in_channels, channels, per_task):
    init_default_scope('mmpretrain')
    return MODELS.build(
        dict(
            type='mmseg_spwc.ContinualImageClassifier',
            backbone=backbone,
            head=dict(
                type='LinearClsHead', num_classes=2,
                in_channels=in_channels),
            channels=channels,
            per_task=per_task,
            losses={}))


@pytest.mark.parametrize(('backbone', 'width', 'channels', 'size'), [
    (dict(type='mmseg_spwc.MLPBackbone'), 400, [10] + 9 * [0], 574_410),
    (dict(type='mmseg_spwc.MLPBackbone'), 400, 10 * [10], 610_500),
    (dict(type='mmseg_spwc.SmallVGG'), 128, 10 * [20], 638_600),
    (dict(type='mmseg_spwc.SmallVGG'), 128, [20], 615_380),
    (dict(type='mmseg_spwc.SmallVGG', image_size=32), 128, 10 * [10],
     429_092),
], ids=['mlp', 'mlp-heads', 'vgg', 'vgg-first', 'vgg-32px'])
def test_published_numbers_of_parameters(backbone, width, channels, size):
    model = classifier(backbone, width, channels, per_task=min(channels) > 0)
    assert sum(p.numel() for p in model.parameters()) == size


def test_trunk_of_the_small_vgg():
    for image_size, size in ((64, 612_800), (32, 416_192)):
        net = SmallVGG(image_size=image_size)
        assert sum(p.numel() for p in net.parameters()) == size
        assert sum(p.numel() for p in net.convs.parameters()) == 334_016


@pytest.mark.parametrize(('image_size', 'million'), [(64, 78.1), (32, 19.5)])
def test_small_vgg_pools_where_the_published_cost_says(image_size, million):
    """Multiplications for an image; another order of layers changes them."""
    net = SmallVGG(image_size=image_size)
    macs = []
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(
                lambda layer, _, out: macs.append(
                    layer.weight.numel() * out[0, 0].numel()))
    features, = net(torch.zeros(1, 3, image_size, image_size))
    assert features.shape == (1, 128)
    assert sum(macs) / 1e6 == pytest.approx(million, abs=0.06)


def test_small_vgg_layer_by_layer():
    net = SmallVGG(stages=((4, ), (4, 6)), hidden=(5, 3), image_size=8)
    x = torch.randn(2, 3, 8, 8)
    first, second, third = (
        m for m in net.modules() if isinstance(m, nn.Conv2d))
    hidden, last = (m for m in net.modules() if isinstance(m, nn.Linear))
    pool = nn.functional.max_pool2d
    y = pool(first(x).clamp(min=0), 2)
    y = pool(third(second(y).clamp(min=0)).clamp(min=0), 2)
    y = last(hidden(y.reshape(2, 24)).clamp(min=0)).clamp(min=0)
    torch.testing.assert_close(net(x)[0], y)


def test_weights_of_the_small_vgg():
    net = SmallVGG()
    net.init_weights()
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d):
            fan_out = 9 * layer.out_channels
            assert layer.weight.std().item() == pytest.approx(
                (2 / fan_out)**0.5, rel=0.06)
        elif isinstance(layer, nn.Linear):
            # keeps the scale of what a ReLU lets through
            assert layer.weight.std().item() == pytest.approx(
                (2 / layer.in_features)**0.5, rel=0.06)
        else:
            continue
        assert (layer.bias == 0).all()


def test_weights_may_stay_torchs():
    torch.manual_seed(0)
    net = SmallVGG(init_cfg=None)
    before = net.convs[0].weight.clone()
    net.init_weights()
    assert torch.equal(net.convs[0].weight, before)


def test_mlp_layer_by_layer():
    net = MLPBackbone(6, (5, 4))
    x = torch.randn(3, 1, 2, 3)
    first, second = (m for m in net.modules() if isinstance(m, nn.Linear))
    y = second(first(x.reshape(3, 6)).clamp(min=0)).clamp(min=0)
    torch.testing.assert_close(net(x)[0], y)


def test_dropout_is_behind_every_layer_and_off_in_evaluation():
    torch.manual_seed(0)
    net = MLPBackbone(6, (50, 50), dropout=0.5)
    x = torch.randn(1, 6)
    assert sum(isinstance(m, nn.Dropout) for m in net.modules()) == 2
    assert not torch.equal(net(x)[0], net(x)[0])
    net.eval()
    assert torch.equal(net(x)[0], net(x)[0])


def test_wrong_images():
    with pytest.raises(ValueError, match='set in_features'):
        MLPBackbone()(torch.zeros(1, 1, 28, 28))
    with pytest.raises(ValueError, match='set image_size'):
        SmallVGG()(torch.zeros(1, 3, 32, 32))
    with pytest.raises(ValueError, match='multiple of 16'):
        SmallVGG(image_size=28)
