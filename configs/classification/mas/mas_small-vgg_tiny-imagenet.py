# python tools/train.py configs/classification/mas/mas_small-vgg_tiny-imagenet.py
_base_ = [
    '../_base_/settings/small-vgg_tiny-imagenet.py',
    '../_base_/methods/mas.py',
]
