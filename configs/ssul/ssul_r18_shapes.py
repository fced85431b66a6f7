# python tools/train.py configs/ssul/ssul_r18_shapes.py
_base_ = [
    '../_base_/models/deeplabv3_r18-d8-shapes.py',
    '../_base_/datasets/shapes.py',
    '../_base_/methods/ssul.py',
    '../_base_/default_runtime.py',
]
