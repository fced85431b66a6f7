# python tools/train.py configs/ewf/mib-ewf_segformer-mit-b2_voc12aug-512x512.py
_base_ = [
    '../_base_/models/segformer_mit-b2.py',
    '../_base_/datasets/voc12aug_adamw.py',
    '../_base_/methods/mib_ewf.py',
    '../_base_/default_runtime.py',
]
