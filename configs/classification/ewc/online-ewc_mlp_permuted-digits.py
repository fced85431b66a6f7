# python tools/train.py configs/classification/ewc/online-ewc_mlp_permuted-digits.py
_base_ = [
    '../_base_/settings/mlp_permuted-digits.py',
    '../_base_/methods/ewc_online.py',
]
