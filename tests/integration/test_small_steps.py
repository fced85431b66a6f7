"""Small steps keep the background, with the options that are shipped.

A surrogate that takes seconds: the features of pixels are generated, in the
measure of those that MobileNetV2 has on VOC at 128 px after step 0, and only
the 1x1 classifiers are trained, by the losses, the learning rates and the
initialisation of the 128 px config and for as many iterations.
"""
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.optim import build_optim_wrapper

from mmseg_spwc.config.step import scenario_of
from mmseg_spwc.engine import step_config
from mmseg_spwc.models.growing import GrowingClassifier
from mmseg_spwc.registry import MODELS

LEAF = Path(__file__).parents[2] / 'configs/rcil' / (
    'rcil_deeplabv3-mobilenetv2-d16_voc12aug-128x128.py')
DIM, BASE, SIDE = 64, 8, 8
ITERATIONS = (70, 160, 90, 40, 60)  # of the five steps of VOC 15-1
OLD_DEFAULTS = dict(
    start=dict(policy='balanced'), new_offset=0., paramwise_cfg=None)


class World:
    """Images of 8 x 8 pixels, given by their features: one object each.

    A class moves the features off those of the background; scenes and
    pixels scatter them. New classes are nearer to the background than
    those that the features were learnt for.
    """

    def __init__(self, seed: int) -> None:
        self.random = torch.Generator().manual_seed(seed)
        lengths = torch.tensor([0.] + [6.5] * BASE + [3.5] * len(ITERATIONS))
        self.shift = lengths[:, None] * self._directions(len(lengths))
        self.mean = 5 * self._directions(1)

    def _directions(self, number: int) -> torch.Tensor:
        drawn = self._normal(number, DIM)
        return drawn / drawn.norm(dim=1, keepdim=True)

    def _normal(self, *size: int) -> torch.Tensor:
        return torch.randn(*size, generator=self.random)

    def images(self, number: int, classes: list) -> tuple:
        """Features (N, DIM, 8, 8) and labels (N, 8, 8)."""
        chosen = torch.tensor(classes)[torch.randint(
            len(classes), (number, ), generator=self.random)]
        corner = torch.randint(
            0, SIDE // 2, (2, number, 1, 1), generator=self.random)
        place = torch.meshgrid(
            torch.arange(SIDE), torch.arange(SIDE), indexing='ij')
        inside = torch.ones(number, SIDE, SIDE, dtype=torch.bool)
        for axis, first in zip(place, corner, strict=True):
            inside &= (axis >= first) & (axis < first + SIDE // 2)
        labels = chosen[:, None, None] * inside
        features = (
            self.mean + self.shift[labels] +
            5 / DIM**.5 * self._normal(number, 1, 1, DIM) +
            4 / DIM**.5 * self._normal(number, SIDE, SIDE, DIM))
        return features.permute(0, 3, 1, 2), labels


def shipped() -> tuple:
    """What the config says of a later step: options, losses, rates."""
    cfg = Config.fromfile(LEAF)
    cfg.work_dir = 'work'
    out = step_config(cfg, scenario_of(cfg), 1)
    hook = next(h for h in out.custom_hooks
                if h['type'].endswith('StepTransitionHook'))
    options = dict(
        start=dict(policy=hook['classifier_init'], share=hook.get('share')),
        new_offset=out.model.losses.pixel.get('new_offset', 0.),
        paramwise_cfg=out.optim_wrapper.get('paramwise_cfg'))
    return options, out.model.losses, out.optim_wrapper.optimizer


def train(net, optimizer: dict, iterations: int, loss,
          paramwise_cfg: dict | None = None) -> None:
    head = torch.nn.ModuleDict(dict(conv_seg=net))
    wrapper = build_optim_wrapper(
        head, dict(optimizer=optimizer, paramwise_cfg=paramwise_cfg))
    rate = torch.optim.lr_scheduler.PolynomialLR(
        wrapper.optimizer, iterations, 0.9)
    for _ in range(iterations):
        wrapper.update_params(loss())
        rate.step()


def background_iou(net, features, labels, last: int) -> float:
    seen = net(features).argmax(1) == 0
    true = (labels == 0) | (labels > last)
    return ((seen & true).sum() / (seen | true).sum()).item()


def sequence(seed: int, changes: dict | None = None) -> list:
    """IoU of the background after each step."""
    torch.manual_seed(seed)
    options, losses, optimizer = shipped()
    options.update(changes or {})
    losses.pixel.new_offset = options['new_offset']
    pixel, kd = MODELS.build(losses.pixel), MODELS.build(losses.kd)
    world, channels = World(seed), [1 + BASE]
    old_classes = list(range(1, BASE + 1))
    net = GrowingClassifier(DIM, channels)

    def first_loss():
        features, labels = world.images(16, old_classes)
        return torch.nn.functional.cross_entropy(net(features), labels)

    train(net, dict(optimizer, lr=0.02), 400, first_loss)
    everything = list(range(1, 1 + BASE + len(ITERATIONS)))
    test = world.images(600, everything)
    found = [background_iou(net, *test, BASE)]
    for new, iterations in enumerate(ITERATIONS, start=BASE + 1):
        teacher = net
        channels.append(1)
        net = GrowingClassifier(DIM, channels)
        net.load_state_dict(teacher.state_dict(), strict=False)
        net.initialise_new(**options['start'])

        def loss(new=new, teacher=teacher, net=net):
            features, labels = world.images(16, [new])
            with torch.no_grad():
                old = teacher(features)
            logits = net(features)
            return pixel(logits, labels, new) + kd(logits, old)

        train(net, optimizer, iterations, loss, options['paramwise_cfg'])
        found.append(background_iou(net, *test, new))
    return found


@pytest.mark.parametrize('seed', [0, 1])
def test_five_small_steps_keep_the_background(seed):
    found = sequence(seed)
    assert found[0] > 0.9
    assert found[-1] > 0.7 * found[0], found


@pytest.mark.parametrize('seed', [0, 1])
def test_the_old_defaults_lost_it(seed):
    found = sequence(seed, OLD_DEFAULTS)
    assert found[0] > 0.9
    assert found[-1] < 0.3 * found[0], found
