# python tools/train.py configs/classification/spwc/ewc-spwc_small-vgg_cifar100.py
_base_ = [
    '../_base_/settings/small-vgg_cifar100.py',
    '../_base_/methods/ewc.py',
    '../_base_/methods/spwc.py',
]
