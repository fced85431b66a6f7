# python tools/train.py configs/demo/finetune-memory_shapes-6-1.py
_base_ = [
    '../_base_/models/deeplabv3_r18-d8-shapes.py',
    '../_base_/datasets/shapes.py',
    '../_base_/methods/finetune_memory.py',
    '../_base_/default_runtime.py',
]
