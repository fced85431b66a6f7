# python tools/train.py configs/lwf_mc/lwf-mc_r18_shapes.py
_base_ = [
    '../_base_/models/deeplabv3_r18-d8-shapes.py',
    '../_base_/datasets/shapes.py',
    '../_base_/methods/lwf_mc.py',
    '../_base_/default_runtime.py',
]
