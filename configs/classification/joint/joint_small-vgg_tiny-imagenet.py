# python tools/train.py configs/classification/joint/joint_small-vgg_tiny-imagenet.py
_base_ = [
    '../_base_/settings/small-vgg_tiny-imagenet.py',
    '../_base_/methods/joint.py',
]
