# python tools/train.py configs/classification/ewc/online-ewc_small-vgg_cifar100.py
_base_ = [
    '../_base_/settings/small-vgg_cifar100.py',
    '../_base_/methods/ewc_online.py',
]
