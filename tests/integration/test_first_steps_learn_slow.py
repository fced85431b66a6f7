"""The first step of every setting learns, on its real data.

Shorter than the settings are: a few minutes for all of them on one core.
"""
import os
from argparse import Namespace
from pathlib import Path

import pytest

from mmseg_spwc.config.load import load_config
from mmseg_spwc.registry import RUNNERS

CONFIGS = Path(__file__).resolve().parents[2] / 'configs'
CLASSIFICATION = CONFIGS / 'classification'
VOC = 'finetune/finetune_deeplabv3-mobilenetv2-d16_voc12aug-128x128.py'
WEIGHTS = 'weights/mobilenet_v2_imagenet_features_torchvision.pth'
SHORT = {'small-vgg_cifar100': 6, 'small-vgg_tiny-imagenet': 10}  # epochs
# test accuracy after the first step. Chance is .1, .05 for Tiny ImageNet
LEAST = {
    'mlp_permuted-digits': 0.9,
    'mlp_permuted-mnist': 0.93,
    'mlp_permuted-mnist-fashion': 0.93,
    'small-vgg_cifar100': 0.3,
    'small-vgg_tiny-imagenet': 0.1,
}

pytestmark = pytest.mark.slow


def data(name: str) -> Path:
    """A path below the root of all data, if it is there."""
    path = Path(os.environ.get('MMSEG_SPWC_DATA', ''), name)
    if not os.environ.get('MMSEG_SPWC_DATA') or not path.exists():
        pytest.skip(f'needs {name} under $MMSEG_SPWC_DATA')
    return path


def first_step(config: Path, folder: Path, **options) -> dict:
    """Train the first step of a config and return its record."""
    cfg = load_config(Namespace(
        config=str(config), work_dir=str(folder),
        cfg_options={'randomness.seed': 0, 'method.run': 'first',
                     'experiment_name': folder.name, **options}))
    return RUNNERS.build(cfg).train().steps[0]


def leaf_of(setting: str) -> Path:
    found = sorted(CLASSIFICATION.glob(f'*/*_{setting}.py'))
    plain = [path for path in found if path.parent.name == 'finetune']
    return (plain or found)[0]


def test_no_setting_is_left_out():
    settings = CLASSIFICATION.glob('_base_/settings/*.py')
    assert {path.stem for path in settings} == set(LEAST)


@pytest.mark.parametrize('setting', LEAST)
def test_classification(setting, tmp_path):
    for name in ('mnist', 'fashion', 'cifar100', 'tiny-imagenet'):
        if name in setting:
            data({'fashion': 'fashion-mnist', 'tiny-imagenet':
                  'tiny-imagenet-200'}.get(name, name))
    options = {}
    if setting in SHORT:
        options['train_cfg.max_epochs'] = SHORT[setting]
    if 'tiny-imagenet' in setting:
        options['train_dataloader.dataset.per_class'] = 100
    step = first_step(leaf_of(setting), tmp_path / setting, **options)
    assert step['accuracy_by_step'][0] >= LEAST[setting]


def test_voc_at_128_px(tmp_path):
    """The background alone is .73 of the pixels and a mean IoU of .05."""
    data('voc128/VOCdevkit/VOC2012/JPEGImages')
    step = first_step(
        CONFIGS / VOC, tmp_path / 'voc', **{
            'backbone_weights': str(data(WEIGHTS)),
            'model.channels_last': True,
            'train_cfg.max_epochs': 1,
            'train_dataloader.num_workers': 0,
            'train_dataloader.persistent_workers': False,
            'test_dataloader.num_workers': 0,
            'test_dataloader.persistent_workers': False,
        })
    scores = [s for s in step['iou_by_class'] if s is not None]
    assert sum(scores) / len(scores) >= 0.15
