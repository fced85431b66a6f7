# python tools/train.py configs/classification/si/si_small-vgg_cifar100.py
_base_ = [
    '../_base_/settings/small-vgg_cifar100.py',
    '../_base_/methods/si.py',
]
