# python tools/train.py configs/ewf/mib-ewf_upernet-swin-t_voc12aug-512x512.py
_base_ = [
    '../_base_/models/upernet_swin-t.py',
    '../_base_/datasets/voc12aug_adamw.py',
    '../_base_/methods/mib_ewf.py',
    '../_base_/default_runtime.py',
]
