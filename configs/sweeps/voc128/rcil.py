_base_ = [
    '../../_base_/models/deeplabv3_mobilenetv2-d16.py',
    '../../_base_/datasets/voc12aug_128px.py',
    '../../_base_/methods/rcil.py',
    '../../_base_/default_runtime.py',
]
