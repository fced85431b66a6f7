# python tools/train.py configs/classification/si/si_mlp_permuted-digits.py
_base_ = [
    '../_base_/settings/mlp_permuted-digits.py',
    '../_base_/methods/si.py',
]
