# python tools/train.py configs/joint/joint-offline_deeplabv3-r101-d16_b24-60e_ade20k-100-5-512x512.py
_base_ = [
    '../_base_/settings/ade20k_r101_60e.py',
    '../_base_/scenarios/ade_100-5_overlapped.py',
    '../_base_/methods/joint_offline.py',
]
