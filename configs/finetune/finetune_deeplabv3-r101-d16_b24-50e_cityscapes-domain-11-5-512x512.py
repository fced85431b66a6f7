# python tools/train.py configs/finetune/finetune_deeplabv3-r101-d16_b24-50e_cityscapes-domain-11-5-512x512.py
_base_ = [
    '../_base_/settings/cityscapes-domain_r101_50e.py',
    '../_base_/scenarios/cityscapes-domain_11-5.py',
    '../_base_/methods/finetune.py',
]
