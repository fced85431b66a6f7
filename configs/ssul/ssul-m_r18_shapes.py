# python tools/train.py configs/ssul/ssul-m_r18_shapes.py
_base_ = [
    '../_base_/models/deeplabv3_r18-d8-shapes.py',
    '../_base_/datasets/shapes.py',
    '../_base_/methods/ssul_m.py',
    '../_base_/default_runtime.py',
]
