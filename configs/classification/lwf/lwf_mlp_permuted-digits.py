# python tools/train.py configs/classification/lwf/lwf_mlp_permuted-digits.py
_base_ = [
    '../_base_/settings/mlp_permuted-digits.py',
    '../_base_/methods/lwf.py',
]
