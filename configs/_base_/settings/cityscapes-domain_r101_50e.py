# Cityscapes city by city, DeepLabV3 R101, 50 epochs a step.
_base_ = [
    '../models/deeplabv3_r101-d16.py',
    '../datasets/cityscapes_pooled.py',
    '../schedules/css_50e_cityscapes-domain.py',
    '../default_runtime.py',
]
