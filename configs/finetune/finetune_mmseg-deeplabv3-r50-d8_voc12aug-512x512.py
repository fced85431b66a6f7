# python tools/train.py configs/finetune/finetune_mmseg-deeplabv3-r50-d8_voc12aug-512x512.py
_base_ = [
    'mmseg::_base_/models/deeplabv3_r50-d8.py',
    '../_base_/datasets/voc12aug.py',
    '../_base_/methods/finetune.py',
    '../_base_/default_runtime.py',
]
