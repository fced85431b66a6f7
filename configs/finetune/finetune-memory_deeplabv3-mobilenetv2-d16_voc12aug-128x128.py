# python tools/train.py configs/finetune/finetune-memory_deeplabv3-mobilenetv2-d16_voc12aug-128x128.py
_base_ = [
    '../_base_/models/deeplabv3_mobilenetv2-d16.py',
    '../_base_/datasets/voc12aug_128px.py',
    '../_base_/methods/finetune_memory.py',
    '../_base_/default_runtime.py',
]
