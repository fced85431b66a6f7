# python tools/train.py configs/sdr/sdr_r18_shapes.py
_base_ = [
    '../_base_/models/deeplabv3_r18-d8-shapes.py',
    '../_base_/datasets/shapes.py',
    '../_base_/methods/sdr.py',
    '../_base_/default_runtime.py',
]
