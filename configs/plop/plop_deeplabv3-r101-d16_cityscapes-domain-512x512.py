# python tools/train.py configs/plop/plop_deeplabv3-r101-d16_cityscapes-domain-512x512.py
_base_ = [
    '../_base_/models/deeplabv3_r101-d16.py',
    '../_base_/datasets/cityscapes_pooled.py',
    '../_base_/methods/plop.py',
    '../_base_/default_runtime.py',
]
