# python tools/train.py configs/classification/spwc/ewc-spwc-plus_mlp_permuted-mnist-fashion.py
_base_ = [
    '../_base_/settings/mlp_permuted-mnist-fashion.py',
    '../_base_/methods/ewc.py',
    '../_base_/methods/spwc_plus.py',
]
