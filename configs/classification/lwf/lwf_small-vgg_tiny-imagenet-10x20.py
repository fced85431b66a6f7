_base_ = [
    '../_base_/settings/small-vgg_tiny-imagenet-10x20.py',
    '../_base_/methods/lwf_survey.py',
]
