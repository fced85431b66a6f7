# python tools/train.py configs/spwc/ewc-spwc_deeplabv3-r101-d16_b24-60e_ade20k-100-50-ov-512x512.py
_base_ = [
    '../_base_/settings/ade20k_r101_60e.py',
    '../_base_/scenarios/ade_100-50_overlapped.py',
    '../_base_/methods/ewc.py',
    '../_base_/methods/spwc.py',
]
