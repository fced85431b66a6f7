# python tools/train.py configs/rcil/rcil_deeplabv3-r101-d16_b24-50e_cityscapes-domain-11-1-512x512.py
_base_ = [
    '../_base_/settings/cityscapes-domain_r101_50e_lr2e-2.py',
    '../_base_/scenarios/cityscapes-domain_11-1.py',
    '../_base_/methods/rcil_domain.py',
]
schedule = dict(later=dict(optim_wrapper=dict(optimizer=dict(lr=0.004))))
