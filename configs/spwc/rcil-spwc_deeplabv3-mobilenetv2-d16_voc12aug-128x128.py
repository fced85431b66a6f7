# python tools/train.py configs/spwc/rcil-spwc_deeplabv3-mobilenetv2-d16_voc12aug-128x128.py
_base_ = [
    '../_base_/models/deeplabv3_mobilenetv2-d16.py',
    '../_base_/datasets/voc12aug_128px.py',
    '../_base_/methods/rcil.py',
    '../_base_/default_runtime.py',
]
# steps of a hundred images need other settings (docs/results/voc128.md)
method = dict(later=dict(
    model=dict(frozen_norm='.', losses=dict(kd=dict(loss_weight=20.))),
    hooks=dict(transition=dict(classifier_init='share', share=0.05)),
    optim_wrapper=dict(paramwise_cfg=dict(
        custom_keys={'conv_seg': dict(lr_mult=10.)}))))
self_paced = dict(rule='spwc', k=15)
