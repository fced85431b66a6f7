# python tools/train.py configs/classification/er/er_mlp_permuted-digits.py
_base_ = [
    '../_base_/settings/mlp_permuted-digits.py',
    '../_base_/methods/er.py',
]
