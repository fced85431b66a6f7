# python tools/train.py configs/classification/er/er_small-vgg_tiny-imagenet.py
_base_ = [
    '../_base_/settings/small-vgg_tiny-imagenet.py',
    '../_base_/methods/er.py',
]
