# RCIL as published but for the weight of the distillation.
_base_ = [
    '../../../../configs/_base_/models/deeplabv3_mobilenetv2-d16.py',
    '../../../../configs/_base_/datasets/voc12aug_128px.py',
    '../../../../configs/_base_/methods/rcil.py',
    '../../../../configs/_base_/default_runtime.py',
]
method = dict(later=dict(
    model=dict(losses=dict(kd=dict(loss_weight=20.)))))
