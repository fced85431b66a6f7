# python tools/train.py configs/spwc/ewc-spwc_r18-shapes-6-1.py
_base_ = [
    '../_base_/settings/shapes_r18.py',
    '../_base_/scenarios/shapes_6-1_overlapped.py',
    '../_base_/methods/ewc.py',
    '../_base_/methods/spwc.py',
]
