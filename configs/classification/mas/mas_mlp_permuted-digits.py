# python tools/train.py configs/classification/mas/mas_mlp_permuted-digits.py
_base_ = [
    '../_base_/settings/mlp_permuted-digits.py',
    '../_base_/methods/mas.py',
]
