# python tools/train.py configs/classification/spwc/ewc-spwc_small-vgg_tiny-imagenet.py
_base_ = [
    '../_base_/settings/small-vgg_tiny-imagenet.py',
    '../_base_/methods/ewc.py',
    '../_base_/methods/spwc.py',
]
