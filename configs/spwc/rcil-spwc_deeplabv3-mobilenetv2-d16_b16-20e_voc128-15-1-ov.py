# python tools/train.py configs/spwc/rcil-spwc_deeplabv3-mobilenetv2-d16_b16-20e_voc128-15-1-ov.py
_base_ = [
    '../_base_/settings/voc128_mobilenetv2.py',
    '../_base_/scenarios/voc_15-1_overlapped.py',
    '../_base_/methods/rcil_mobilenetv2.py',
    '../_base_/methods/spwc.py',
]
