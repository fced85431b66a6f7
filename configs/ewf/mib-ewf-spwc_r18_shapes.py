# python tools/train.py configs/ewf/mib-ewf-spwc_r18_shapes.py
_base_ = [
    '../_base_/models/deeplabv3_r18-d8-shapes.py',
    '../_base_/datasets/shapes.py',
    '../_base_/methods/mib_ewf.py',
    '../_base_/default_runtime.py',
]
self_paced = dict(rule='spwc', k=15)
method = dict(
    every=dict(hooks=dict(fusion=dict(type='mmseg_spwc.SelfPacedFusionHook'))),
    later=dict(model=dict(frozen=None)))
