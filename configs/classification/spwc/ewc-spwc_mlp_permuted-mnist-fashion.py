# python tools/train.py configs/classification/spwc/ewc-spwc_mlp_permuted-mnist-fashion.py
_base_ = [
    '../_base_/settings/mlp_permuted-mnist-fashion.py',
    '../_base_/methods/ewc.py',
    '../_base_/methods/spwc.py',
]
