# python tools/train.py configs/spwc/rcil-spwc_deeplabv3-mobilenetv2-d16_voc12aug-128x128.py
_base_ = [
    '../_base_/models/deeplabv3_mobilenetv2-d16.py',
    '../_base_/datasets/voc12aug_128px.py',
    '../_base_/methods/rcil.py',
    '../_base_/default_runtime.py',
]
# small steps need a slow network and fast new classes (docs/results/appendix/voc128.md)
method = dict(later=dict(
    model=dict(frozen_norm='.', losses=dict(
        kd=dict(loss_weight=20.), pixel=dict(new_offset=1.))),
    hooks=dict(transition=dict(classifier_init='zero')),
    optim_wrapper=dict(optimizer=dict(lr=4e-4), paramwise_cfg=dict(
        custom_keys={'conv_seg': dict(lr_mult=25.),
                     'conv_seg.convs.0': dict(lr_mult=.5)}))))
self_paced = dict(rule='spwc', k=15)
