# python tools/train.py configs/joint/joint-offline_deeplabv3-r101-d16_b24-30e_voc12aug-19-1-512x512.py
_base_ = [
    '../_base_/settings/voc12aug_r101_30e.py',
    '../_base_/scenarios/voc_19-1_overlapped.py',
    '../_base_/methods/joint_offline.py',
]
