"""The CSS flavour of DeepLabV3 against its formula written out by hand."""
import mmseg_spwc  # noqa: F401, I001  (before mmseg)

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from mmengine.config import Config
from mmengine.registry import DefaultScope
from mmseg.registry import MODELS as MMSEG_MODELS
from torch import nn

from mmseg_spwc.models.css_head import DeepLabV3CSSHead
from mmseg_spwc.models.css_head import replicate_to

MODEL_CONFIGS = Path(__file__).parents[2] / 'configs' / '_base_' / 'models'
SLOPE = 0.01


def small_head(**kwargs) -> DeepLabV3CSSHead:
    torch.manual_seed(0)
    head = DeepLabV3CSSHead(
        6, 4, (1, 2, 3, 4), num_classes=5, **kwargs).double()
    for norm in (head.aspp_norm, head.pool_norm, head.out_norm):
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
    return head


def feature_map(batch=3, height=5, width=7) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(batch, 6, height, width, dtype=torch.float64)


def normalise(x, state, name, training):
    if training:
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), unbiased=False)
    else:
        mean = state[f'{name}.running_mean']
        var = state[f'{name}.running_var']
    gamma, beta = state[f'{name}.weight'], state[f'{name}.bias']
    scale = gamma / (var + 1e-5).sqrt()
    y = (x - mean[:, None, None]) * scale[:, None, None] + beta[:, None, None]
    return torch.where(y > 0, y, SLOPE * y)


def reference(x, state, training):
    """Section by section, with global pooling."""
    branches = [F.conv2d(x, state['aspp_convs.0.weight'])]
    branches += [
        F.conv2d(x, state[f'aspp_convs.{i}.weight'], padding=i + 1,
                 dilation=i + 1) for i in (1, 2, 3)
    ]
    out = normalise(torch.cat(branches, 1), state, 'aspp_norm', training)
    out = F.conv2d(out, state['aspp_project.weight'])
    pool = F.conv2d(x.mean((2, 3), keepdim=True), state['pool_conv.weight'])
    pool = normalise(pool, state, 'pool_norm', training)
    out = out + F.conv2d(pool, state['pool_project.weight'])
    out = normalise(out, state, 'out_norm', training)
    return F.conv2d(out, state['conv_seg.weight'], state['conv_seg.bias'])


@pytest.mark.parametrize('training', [True, False])
def test_forward_follows_the_published_layout(training):
    head, x = small_head(), feature_map()
    state = {k: v.clone() for k, v in head.state_dict().items()}
    head.train(training)
    torch.testing.assert_close(head([x]), reference(x, state, training))


def test_parameter_counts_are_the_published_ones():
    with torch.device('meta'):
        head = DeepLabV3CSSHead(num_classes=21)
    classifier = sum(p.numel() for p in head.conv_seg.parameters())
    assert classifier == 21 * 257
    total = sum(p.numel() for p in head.parameters())
    assert total - classifier == 15_535_104


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 10))
def test_eval_pooling_slides_a_window_and_repeats_the_border(
        height, width, limit):
    x = torch.randn(1, 1, height, width)
    tall, wide = min(limit, height), min(limit, width)
    pooled = replicate_to(
        F.avg_pool2d(x, (tall, wide), stride=1), (height, width))
    for i in range(height):
        for j in range(width):
            top = min(max(i - (tall - 1) // 2, 0), height - tall)
            left = min(max(j - (wide - 1) // 2, 0), width - wide)
            window = x[0, 0, top:top + tall, left:left + wide]
            torch.testing.assert_close(pooled[0, 0, i, j], window.mean())


def test_eval_pools_locally_only_beyond_the_window():
    x = feature_map(height=6, width=6)
    small, large = small_head(pool_window=3), small_head(pool_window=6)
    for head in (small, large):
        head.eval()
    whole = large._image_pool(x)
    torch.testing.assert_close(
        whole, whole[..., :1, :1].expand_as(whole))
    assert not torch.allclose(small._image_pool(x), whole)
    # where the 3x3 window is the whole of a crop, both agree
    crop = x[..., 1:4, 1:4]
    torch.testing.assert_close(
        small._image_pool(x)[..., 2, 2],
        large._image_pool(crop)[..., 0, 0])


@pytest.mark.parametrize('slope, gain', [(0.01, 1.41414), (1.0, 1.0)])
def test_convolutions_start_xavier_normal(slope, gain):
    torch.manual_seed(0)
    head = DeepLabV3CSSHead(
        128, 64, num_classes=21, init_gain_slope=slope)
    classifier = head.conv_seg.weight.clone()
    head.init_weights()
    for conv in (*head.aspp_convs, head.aspp_project, head.pool_conv):
        area = math.prod(conv.kernel_size)
        fans = area * (conv.in_channels + conv.out_channels)
        expected = gain * math.sqrt(2 / fans)
        assert conv.weight.std().item() == pytest.approx(expected, rel=0.05)
    assert torch.equal(head.conv_seg.weight, classifier)
    assert classifier.abs().max() <= 1 / 8  # torch's default, 1/sqrt(64)
    assert torch.equal(head.aspp_norm.weight, torch.ones(256))
    assert torch.equal(head.aspp_norm.bias, torch.zeros(256))


def test_initialising_twice_changes_nothing():
    head = small_head()
    head.init_weights()
    before = head.pool_conv.weight.clone()
    head.init_weights()
    assert torch.equal(head.pool_conv.weight, before)


def test_a_given_init_cfg_is_applied():
    head = small_head(init_cfg={
        'type': 'Constant',
        'val': 3,
        'override': {'name': 'conv_seg'}
    })
    head.init_weights()
    assert (head.conv_seg.weight == 3).all()
    assert not (head.pool_conv.weight == 3).any()


def test_rc_groups_name_the_parallel_convolutions_and_their_norm():
    head = small_head()
    (convs, norm), = head.rc_groups()
    assert len(convs) == 4
    modules = dict(head.named_modules())
    assert [modules[name] for name in convs] == list(head.aspp_convs)
    width = sum(modules[name].out_channels for name in convs)
    assert modules[norm].num_features == width == 16
    assert all(modules[name].bias is None for name in convs)


def test_a_single_image_trains_with_a_clear_error_and_evaluates():
    head, x = small_head(), feature_map(batch=1)
    with pytest.raises(ValueError, match='at least 2 per process'):
        head([x])
    head.eval()
    assert head([x]).shape == (1, 5, 5, 7)


def build(name: str, num_classes: int) -> nn.Module:
    config = Config.fromfile(MODEL_CONFIGS / name).model
    config.decode_head.num_classes = num_classes
    with DefaultScope.overwrite_default_scope('mmseg'):
        return MMSEG_MODELS.build(config)


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def test_r101_config_has_the_papers_58_million_parameters():
    with torch.device('meta'):
        model = build('deeplabv3_r101-d16.py', 21)
    assert count(model.backbone) == 42_500_160
    assert count(model) == 58_040_661


@pytest.mark.parametrize('name, size, stride', [
    ('deeplabv3_mobilenetv2-d16.py', 128, 16),
    ('deeplabv3_r18-d8-shapes.py', 96, 8),
])
def test_small_configs_have_the_stride_of_their_name(name, size, stride):
    model = build(name, 7)
    model.init_weights()
    logits = model(torch.randn(2, 3, size, size))
    assert logits.shape == (2, 7, size // stride, size // stride)
    logits.logsumexp(1).mean().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_shapes_config_is_tiny():
    assert count(build('deeplabv3_r18-d8-shapes.py', 21)) <= 1_000_000
