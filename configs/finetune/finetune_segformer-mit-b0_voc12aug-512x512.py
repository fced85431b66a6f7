# python tools/train.py configs/finetune/finetune_segformer-mit-b0_voc12aug-512x512.py
_base_ = [
    'mmseg::_base_/models/segformer_mit-b0.py',
    '../_base_/datasets/voc12aug_adamw.py',
    '../_base_/methods/finetune.py',
    '../_base_/default_runtime.py',
]
