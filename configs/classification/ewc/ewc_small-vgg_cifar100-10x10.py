_base_ = [
    '../_base_/settings/small-vgg_cifar100-10x10.py',
    '../_base_/methods/ewc_survey.py',
]
