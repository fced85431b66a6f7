# ADE20K, DeepLabV3 R101, 60 epochs a step.
_base_ = [
    '../models/deeplabv3_r101-d16.py',
    '../datasets/ade20k.py',
    '../schedules/css_60e.py',
    '../default_runtime.py',
]
