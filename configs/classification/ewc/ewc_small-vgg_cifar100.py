# python tools/train.py configs/classification/ewc/ewc_small-vgg_cifar100.py
_base_ = [
    '../_base_/settings/small-vgg_cifar100.py',
    '../_base_/methods/ewc.py',
]
