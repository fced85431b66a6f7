# Generated shapes, a small DeepLabV3: minutes on a CPU.
_base_ = [
    '../models/deeplabv3_r18-d8-shapes.py',
    '../datasets/shapes.py',
    '../schedules/shapes.py',
    '../default_runtime.py',
]
