# python tools/train.py configs/classification/ewc/ewc_mlp_permuted-digits.py
_base_ = [
    '../_base_/settings/mlp_permuted-digits.py',
    '../_base_/methods/ewc.py',
]
