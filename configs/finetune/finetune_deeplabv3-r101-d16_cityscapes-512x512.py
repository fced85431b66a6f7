# python tools/train.py configs/finetune/finetune_deeplabv3-r101-d16_cityscapes-512x512.py
_base_ = [
    '../_base_/models/deeplabv3_r101-d16.py',
    '../_base_/datasets/cityscapes.py',
    '../_base_/methods/finetune.py',
    '../_base_/default_runtime.py',
]
