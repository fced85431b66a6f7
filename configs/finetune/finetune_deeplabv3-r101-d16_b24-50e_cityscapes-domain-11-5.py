# python tools/train.py configs/finetune/finetune_deeplabv3-r101-d16_b24-50e_cityscapes-domain-11-5.py
_base_ = [
    '../_base_/models/deeplabv3_r101-d16.py',
    '../_base_/datasets/cityscapes_pooled.py',
    '../_base_/scenarios/cityscapes-domain_11-5.py',
    '../_base_/methods/finetune.py',
    '../_base_/schedules/css_50e_cityscapes-domain.py',
    '../_base_/default_runtime.py',
]
