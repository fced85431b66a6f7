# python tools/train.py configs/joint/joint-offline_deeplabv3-r101-d16_b24-60e_ade20k-50-50-512x512.py
_base_ = [
    '../_base_/settings/ade20k_r101_60e.py',
    '../_base_/scenarios/ade_50-50_overlapped.py',
    '../_base_/methods/joint_offline.py',
]
