# python tools/train.py configs/spwc/ewc-spwc_deeplabv3-r101-d16_b24-30e_voc12aug-15-1-ov-512x512.py
_base_ = [
    '../_base_/settings/voc12aug_r101_30e.py',
    '../_base_/scenarios/voc_15-1_overlapped.py',
    '../_base_/methods/ewc.py',
    '../_base_/methods/spwc.py',
]
