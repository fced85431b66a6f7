# python tools/train.py configs/sdr/sdr_deeplabv3-r101-d16_voc12aug-512x512.py
_base_ = [
    '../_base_/models/deeplabv3_r101-d16.py',
    '../_base_/datasets/voc12aug.py',
    '../_base_/methods/sdr.py',
    '../_base_/default_runtime.py',
]
