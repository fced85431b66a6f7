# python tools/train.py configs/spwc/rcil-spwc_deeplabv3-mobilenetv2-d16_voc12aug-128x128.py
_base_ = [
    '../_base_/models/deeplabv3_mobilenetv2-d16.py',
    '../_base_/datasets/voc12aug_128px.py',
    '../_base_/methods/rcil.py',
    '../_base_/default_runtime.py',
]
# the short steps of 128 px do better with less than the published weight of
# 100 (docs/results/voc128.md)
method = dict(later=dict(model=dict(losses=dict(kd=dict(loss_weight=20.)))))
self_paced = dict(rule='spwc', k=15)
