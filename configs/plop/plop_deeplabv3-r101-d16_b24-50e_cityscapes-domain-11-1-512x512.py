# python tools/train.py configs/plop/plop_deeplabv3-r101-d16_b24-50e_cityscapes-domain-11-1-512x512.py
_base_ = [
    '../_base_/settings/cityscapes-domain_r101_50e.py',
    '../_base_/scenarios/cityscapes-domain_11-1.py',
    '../_base_/methods/plop_domain.py',
]
